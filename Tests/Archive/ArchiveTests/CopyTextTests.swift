import Testing

@testable import Archive

@Suite struct CopyTextTests {
  private func written(_ write: (inout CopyText) -> Void) -> String {
    var text = CopyText()
    write(&text)
    return String(decoding: text.bytes, as: UTF8.self)
  }

  /// COPY's text format: PostgreSQL 15, "COPY", "File Formats".
  @Test(arguments: [
    ("kiwi", "kiwi"), ("", ""), ("키위", "키위"), ("a\tb", #"a\tb"#), ("a\nb", #"a\nb"#),
    ("a\r\nb", #"a\r\nb"#), (#"\N"#, #"\\N"#), (#"\."#, #"\\."#), (#"C:\new"#, #"C:\\new"#),
    ("'; DROP TABLE event; --", "'; DROP TABLE event; --"), ("\u{1}\u{7F}", "\u{1}\u{7F}"),
  ])
  func aFieldIsReadAsItWas(text: String, field: String) {
    #expect(written { $0.field(text) } == field)
  }

  @Test func fieldsAndRowsHaveTheirEnds() {
    let rows = written {
      $0.field("a")
      $0.field(Int?.none)
      $0.field(-5)
      $0.endRow()
      $0.field(String?.none)
      $0.field([0, 255, 92])
      $0.endRow()
    }
    #expect(rows == "a\t\\N\t-5\n\\N\t\\\\x00ff5c\n")
  }
}
