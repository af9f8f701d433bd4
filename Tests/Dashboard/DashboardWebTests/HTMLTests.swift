import JuiceDomain
import KioskProtocol
import Testing

@testable import DashboardWeb

@Suite struct HTMLTests {
  @Test func whatIsInterpolatedIsEscaped() {
    let name = "<script>alert('1')</script> & \"more\""
    let html: HTML = "<p title=\"\(name)\">\(name)</p>"
    let escaped = "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;more&quot;"
    #expect(html.text == "<p title=\"\(escaped)\">\(escaped)</p>")
  }

  @Test func invisibleCharactersAreLeftOut() {
    let name = "paper \u{202E}maj\u{1B}[2J & \u{200B}more\nlines"
    let html: HTML = "<p>\(name)</p>"
    #expect(html.text == "<p>paper maj[2J &amp; more\nlines</p>")
  }

  @Test func markupAndNumbersAreNot() {
    let item: HTML = "<li>\(7)</li>"
    let none: HTML? = nil
    let list: HTML = "<ul>\([item, item])\(none)</ul>"
    #expect(list.text == "<ul><li>7</li><li>7</li></ul>")
  }

  @Test(
    arguments: [
      ("aZ09-_./", "aZ09-_./"), ("a b&c=d", "a%20b%26c%3Dd"), ("~+%?#\0", "%7E%2B%25%3F%23%00"),
      ("딸", "%EB%94%B8"), ("", ""),
    ])
  func aValueOfAQueryIsEncoded(text: String, encoded: String) {
    #expect(text.percentEncoded == encoded)
  }

  @Test(
    arguments: [
      ("q=a+b%26c", "a b&c"), ("x=1&q=%EB%94%B8", "딸"), ("q=", ""), ("q", nil), ("", nil),
      ("q=%FF", "\u{FFFD}"), ("q=%ZZ", nil), ("q=1&q=2", nil), ("q[a]=1", nil),
    ] as [(String, String?)])
  func aFormIsReadOrEmpty(text: String, value: String?) {
    #expect(Form(text)["q"] == value)
  }

  @Test(
    arguments: [
      ("", .english), ("ko", .korean), ("ko-KR,ko;q=0.9,en;q=0.8", .korean),
      ("en-US,en;q=0.9,ko;q=0.8", .english), ("fr, ko;q=0.5, en;q=0.4", .korean),
      ("ko;q=0, en;q=0.1", .english), ("de", .english), ("en;q=x,ko;q=0.1", .korean),
    ] as [(String, Language)])
  func theBrowsersLanguageIsSpoken(header: String, language: Language) {
    #expect(Language(accepting: header) == language)
  }

  @Test(arguments: [
    ("KRW", 3_038_800, "₩3,038,800", "3,038,800원"), ("KRW", 0, "₩0", "0원"),
    ("EUR", 350, "€3.50", "€3.50"), ("EUR", 123_456_789, "€1,234,567.89", "€1,234,567.89"),
    ("CHF", 99_999, "999.99 CHF", "999.99 CHF"), ("JPY", 1_000, "¥1,000", "¥1,000"),
  ])
  func moneyIsWrittenAsPeopleWriteIt(
    code: String, units: Int, english: String, korean: String
  ) throws {
    let money = Money(units: units, try #require(Currency(code)))
    #expect(money.text(.english) == english && money.text(.korean) == korean)
  }
}
