import Devices
import JuiceDomain
import Testing

@Suite struct TemplateTests {
  @Test func fillsItsGaps() throws {
    let template = try Template("[zl1c1]Kiwi {stock.kiwi}, {servings.mango_kiwi} glasses")
    let text = template.fill { placeholder in
      switch placeholder {
      case .stock("kiwi"): "7"
      case .servings("mango_kiwi"): "2"
      default: nil
      }
    }
    #expect(text == "[zl1c1]Kiwi 7, 2 glasses")
  }

  @Test(arguments: [
    #"{"seg":[{"on":true}]}"#, "{}", "{ stock.kiwi }", "{Stock.kiwi}", "{{", "", "{stock.kiwi",
    "{stock.}", "{.kiwi}", "{stock.a.b}", "{stock.ki wi}", "}{",
  ])
  func otherBracesAreText(text: String) throws {
    #expect(try Template(text).fill { _ in "gap" } == text)
  }

  @Test func aGapMayFollowABrace() throws {
    #expect(try Template("{{juice}}{a{ticket}").fill { _ in "7" } == "{7}{a7")
  }

  @Test(arguments: ["{stock}", "{stok.kiwi}", "a{kiosk.name}b", "{juice.kiwi}", "{alert}"])
  func aGapThatNothingFillsIsRefused(text: String) {
    #expect(throws: TemplateError.self) { try Template(text) }
  }

  @Test func knowsAllGaps() throws {
    let template = try Template(
      "{stock.a}{alert.b}{servings.c}{price.d}{payment.e}{kiosk.status}{juice}{quantity}{ticket}{message}"
    )
    #expect(
      template.placeholders == [
        .stock("a"), .alert("b"), .servings("c"), .price("d"), .payment("e"), .kioskStatus, .juice,
        .quantity, .ticket, .message,
      ])
  }

  @Test(arguments: [
    (#"{"text":"{message}"}"#, #"{"text":"a \"b\" \\ \u000a"}"#),
    (#"{"\"x":"{juice}: {message}","n":{stock.kiwi}}"#, #"{"\"x":"7: a \"b\" \\ \u000a","n":7}"#),
    (#"["p1b1.text={message}"]"#, #"["p1b1.text=a \"b\" \\ \u000a"]"#),
    // A value that is missing.
    (#"{"ticket":{ticket},"text":"{ticket}"}"#, #"{"ticket":null,"text":""}"#),
    // Not JSON.
    (#"[zl1c1]{message}"#, "[zl1c1]a \"b\" \\ \n"), (#""{message}""#, "\"a \"b\" \\ \n\""),
    (#"{"text":{message}}"#, "{\"text\":a \"b\" \\ \n}"), ("{ticket}", ""),
  ])
  func valuesAreEscapedInJSON(text: String, filled: String) throws {
    let template = try Template(text)
    #expect(
      template.fill { placeholder in
        switch placeholder {
        case .message: "a \"b\" \\ \n"
        case .ticket: nil
        default: "7"
        }
      } == filled)
  }
}
