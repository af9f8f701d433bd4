import JuiceDomain

// The words for what a kiosk publishes of its sales: the glasses that it has made, and their prices. Both
// include free orders, such as those of the staff, which the sums do not tell apart.
extension Language {
  var madeToday: String { self("Made today", "오늘 만든 잔") }
  var valueOfGlasses: String { self("Value", "제조 금액") }
}
