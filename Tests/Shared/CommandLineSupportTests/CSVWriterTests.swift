import CommandLineSupport
import Testing

@Suite struct CSVWriterTests {
  @Test(arguments: [
    ("kiwi", "kiwi"), ("a,b", "\"a,b\""), ("say \"x\"", "\"say \"\"x\"\"\""), ("=1+1", "'=1+1"),
    ("-x", "'-x"), (" @x", "' @x"), ("＝1", "'＝1"), ("=\"a\",b", "\"'=\"\"a\"\",b\""), ("", ""),
    ("\ta", " a"), ("\r=1", "' =1"), ("a\u{202E}b\u{1B}[1m\nc", "\"ab[1m\nc\""),
    ("Kiwi -1", "Kiwi -1"), ("+1", "'+1"), ("@a", "'@a"),
  ])
  func aTextIsNoFormula(text: String, field: String) {
    #expect(CSVWriter().line([.text(text), .number(-1)]) == "\(field),-1")
    #expect(CSVWriter(forExcel: true).line([.text(text)]) == "\(field)\r")
  }

  @Test func aLongNumberKeepsItsDigitsInExcel() {
    let cells: [CSVWriter.Cell] = [.number(8_123_456_789_012_345), .number("3.50"), .number(nil)]
    #expect(CSVWriter().line(cells) == "8123456789012345,3.50,")
    let csv = CSVWriter(forExcel: true)
    #expect(csv.line(cells) == "\"=\"\"8123456789012345\"\"\",3.50,\r")
    #expect(csv.start == "\u{FEFF}sep=,\r\n" && CSVWriter().start.isEmpty)
  }
}
