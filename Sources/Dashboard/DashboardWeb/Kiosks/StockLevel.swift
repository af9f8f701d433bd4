import Fleet
import JuiceDomain
import KioskProtocol

/// The stock of a fruit as a number and as a bar.
struct StockLevel {
  let stock: Int
  /// The capacity, or `nil` if there is no limit.
  let capacity: Int?
  let low: Int

  init(of fruit: Fruit.ID, in kiosk: KioskState) {
    stock = kiosk.reports.stock?.fruits[fruit] ?? 0
    capacity = kiosk.reports.menu?.capacities[fruit]
    low = kiosk.reports.menu?.lowMarks[fruit] ?? 0
  }

  /// Returns the bar, drawn in thousandths of its width, so that it needs no inline styles. Screen
  /// readers ignore it, because the text next to it contains the same number.
  func bar(_ style: HTML = "") -> HTML {
    let whole = max(1, capacity ?? 0, stock, low)
    func part(_ amount: Int) -> Int {
      Int((Double(max(0, amount)) / Double(whole) * 1000).rounded())
    }
    let mark: HTML? = low > 0 ? "<path class=\"mark\" d=\"M\(part(low)) 0v10\"/>" : nil
    return """
      <svg class="gauge\(style)" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">\
      <path d="M0 0h\(part(stock))v10H0z"/>\(mark)</svg>
      """
  }
}
