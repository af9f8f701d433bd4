import JuiceDomain
import Testing

@Suite struct MoneyTests {
  private func currency(_ code: String) throws -> Currency { try #require(Currency(code)) }

  @Test(arguments: [("EUR", 2), ("KRW", 0), ("JPY", 0), ("KWD", 3), ("USD", 2), ("XYZ", 2)])
  func aCurrencyHasItsDecimals(code: String, decimals: UInt8) throws {
    #expect(try currency(code).decimals == decimals)
    #expect(try currency(code).code == code)
  }

  @Test(arguments: ["", "EU", "EURO", "eur", "Eur", "€", "E€", "ÄUR", "E R", "EU\0", "K\u{301}RW"])
  func anythingElseIsNoCurrency(code: String) {
    #expect(Currency(code) == nil)
  }

  @Test(
    arguments: [
      ("3.50", "EUR", 350, "3.50"), ("3.5", "EUR", 350, "3.50"), ("3", "EUR", 300, "3.00"),
      ("0", "EUR", 0, "0.00"), ("0.05", "EUR", 5, "0.05"), ("0.10", "EUR", 10, "0.10"),
      ("3500", "KRW", 3500, "3500"), ("0", "KRW", 0, "0"), ("1.005", "KWD", 1005, "1.005"),
      ("92233720368547758.07", "EUR", .max, "92233720368547758.07"),
    ] as [(String, String, Int, String)])
  func anAmountIsExact(text: String, code: String, units: Int, written: String) throws {
    let money = try #require(Money(text, try currency(code)))
    #expect(money.units == units)
    #expect(money.text == written)
    #expect(money.description == "\(written) \(code)")
    #expect(Money(written, money.currency) == money)
  }

  @Test(arguments: [
    ("", "EUR"), (".", "EUR"), (".5", "EUR"), ("3.", "EUR"), ("3.505", "EUR"), ("3.5", "KRW"),
    ("3,50", "EUR"), ("-1", "EUR"), ("+1", "EUR"), ("1e2", "EUR"), ("1.2.3", "EUR"), (" 1", "EUR"),
    ("１", "EUR"), ("0x1", "EUR"), ("92233720368547758.08", "EUR"),
    ("9223372036854775808", "KRW"), ("99999999999999999999999999", "EUR"),
  ])
  func anythingElseIsNoAmount(text: String, code: String) throws {
    #expect(Money(text, try currency(code)) == nil)
  }

  @Test func thereIsNoLessThanNothingAndNoMoreThanFits() throws {
    let euro = try currency("EUR")
    #expect(Money(units: -1, euro).units == 0)
    #expect(Money(units: 350, euro).times(3) == Money(units: 1050, euro))
    #expect(Money(units: .max, euro).times(2).units == .max)
  }
}
