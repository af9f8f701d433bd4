import CommandLineSupport
import Testing

@Suite struct StandardOutputTests {
  @Test(arguments: [
    ("kiwi\t3\n키위", "kiwi\t3\n키위"), ("a\u{202E}b\u{2028}c\rd", "ab c d"),
    ("\u{1B}[31mred\u{1B}[0m", "\u{1B}[31mred\u{1B}[0m"),
    ("\u{1B}[2J\u{1B}[1;31m\u{1B}", "[2J\u{1B}[1;31m"),
    ("\u{1B}[", "["), ("\u{1B}m", "m"), ("\u{9B}2J\u{0}", "2J"), ("\u{1B}[1\u{202E}m", "[1m"),
  ])
  func onlyColorsOfATerminalStay(text: String, shown: String) {
    #expect(text.visibleWithColors == shown)
  }

  @Test(arguments: [
    (#"{"a":"키위 1\n"}"#, #"{"a":"키위 1\n"}"#), ("\"a\u{202E}b\"", #""a\u202eb""#),
    ("\"\u{E0041}\u{85}\u{7F}\"", #""\udb40\udc41\u0085\u007f""#),
  ])
  func jsonKeepsItsValue(text: String, shown: String) { #expect(text.withEscapes == shown) }
}
