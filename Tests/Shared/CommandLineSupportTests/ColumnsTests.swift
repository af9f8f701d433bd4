import CommandLineSupport
import Testing

@Suite struct ColumnsTests {
  @Test(arguments: [
    ("one two three", "one two\nthree"), ("one\ntwo three four", "one\ntwo three\nfour"),
    ("abcdefghijklm no", "abcdefghijklm\nno"), ("  fix: a", "  fix: a"), ("", ""),
    ("쥬스 나왔습니다", "쥬스\n나왔습니다"), ("one  two three", "one  two\nthree"),
  ])
  func aLineBreaksBetweenWords(text: String, wrapped: String) {
    #expect(text.wrapped(to: 9) == wrapped)
    #expect(text.wrapped(to: nil) == text)
  }

  @Test func furtherLinesAreIndented() {
    #expect("one two three".wrapped(to: 9, indent: "# ") == "one two\n# three")
    #expect("one two three".wrapped(to: 8, indent: "# ") == "one\n# two\n# three")
  }

  @Test(arguments: [(0, ""), (1, "k"), (2, "k"), (3, "k위"), (9, "k위"), (-1, "")])
  func aTextIsCutToItsColumns(width: Int, cut: String) {
    #expect("k위".cut(to: width) == cut)
  }
}
