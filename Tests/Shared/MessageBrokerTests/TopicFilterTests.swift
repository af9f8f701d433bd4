import MessageBroker
import Testing

struct TopicFilterTests {
  /// The examples of MQTT 4.7, and edge cases.
  @Test(arguments: [
    ("sport/tennis/player1/#", "sport/tennis/player1", true),
    ("sport/tennis/player1/#", "sport/tennis/player1/ranking", true),
    ("sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", true),
    ("sport/tennis/player1/#", "sport/tennis/player10", false),
    ("sport/#", "sport", true),
    ("sport/#", "sport/", true),
    ("sport/#", "sports", false),
    ("#", "sport", true),
    ("#", "/", true),
    ("sport/tennis/+", "sport/tennis/player1", true),
    ("sport/tennis/+", "sport/tennis/player1/ranking", false),
    ("sport/+", "sport", false),
    ("sport/+", "sport/", true),
    ("+/tennis/#", "sport/tennis", true),
    ("+/tennis/#", "sport/golf/tennis", false),
    ("sport/+/player1", "sport/tennis/player1", true),
    ("sport/+/player1", "sport//player1", true),
    ("sport/+/player1", "sport/tennis/player2", false),
    ("+", "/finance", false),
    ("+/+", "/finance", true),
    ("/+", "/finance", true),
    ("+/#", "sport", true),
    ("#", "$SYS/uptime", false),
    ("+/uptime", "$SYS/uptime", false),
    ("+/#", "$SYS", false),
    ("$SYS/#", "$SYS/uptime", true),
    ("$SYS/+", "$SYS/uptime", true),
    ("sport/#", "sport/$tennis", true),
    ("accounts", "Accounts", false),
    ("accounts", "accounts/", false),
    ("accounts/payable", "accounts", false),
    // Topics are compared as bytes (4.7.3): precomposed é differs from e with a combining accent.
    ("caf\u{E9}", "cafe\u{301}", false),
  ])
  func matches(filter: String, topic: String, expected: Bool) throws {
    #expect(try TopicFilter(filter).matches(topic) == expected)
  }

  @Test(arguments: [
    ("a/b", "a/b", true), ("a/b", "a/c", false), ("a/b", "a", false), ("a/+", "a/b", true),
    ("a/+", "+/b", true), ("a/+", "b/+", false), ("#", "a/b", true), ("a/#", "a", true),
    ("a/#", "a/b/c", true), ("a/#", "b/#", false), ("a/b/#", "a/+", true), ("+", "a/b", false),
    ("a", "a/b/#", false), ("a//", "a/+/b", false),
  ])
  func overlaps(one: String, other: String, expected: Bool) throws {
    #expect(try TopicFilter(one).overlaps(try TopicFilter(other)) == expected)
    #expect(try TopicFilter(other).overlaps(try TopicFilter(one)) == expected)
  }

  /// A broker may send a message twice if two filters match it, so the old filter is removed first.
  @Test func aChangeLeavesWhatStays() throws {
    func filters(_ texts: String...) throws -> [TopicFilter] {
      try texts.map { try TopicFilter($0) }
    }
    let change = SubscriptionChange(
      from: try filters("a", "b/+", "c/d", "e"), to: try filters("a", "b/b", "c/#", "f"))
    #expect(change.added == (try filters("b/b", "c/#", "f")))
    #expect(change.droppedFirst == (try filters("b/+", "c/d")))
    #expect(change.droppedLast == (try filters("e")))
  }

  @Test(arguments: [
    ("", TopicFilterError.empty),
    (String(repeating: "a", count: 65_536), .tooLong),
    ("sport\0", .nullCharacter),
    ("sport/tennis#", .wildcardInsideLevel(2)),
    ("sport+", .wildcardInsideLevel(1)),
    ("##", .wildcardInsideLevel(1)),
    ("sport/#/ranking", .hashNotLast(2)),
    ("#/", .hashNotLast(1)),
  ])
  func refuses(text: String, expected: TopicFilterError) {
    #expect(throws: expected) { try TopicFilter(text) }
  }

  @Test(arguments: ["/", "+", "#", "sport//", "a b/ç", "+/+/#"])
  func takes(text: String) throws {
    #expect(try TopicFilter(text).text == text)
  }

  @Test func theLongestFilterIsTaken() throws {
    let longest = String(repeating: "a", count: 65_535)
    #expect(try TopicFilter(longest).text == longest)
  }

  @Test(arguments: [
    ("a/+", "a/b", true), ("a/#", "a", true), ("a/#", "a/b/c", true), ("#", "a/b", true),
    ("+/+", "a/+", true), ("a/+", "a/#", false), ("a/+", "a", false), ("a", "a", true),
    ("a/b", "a/+", false), ("a/+/c", "a/b/+", false), ("#", "$SYS/x", false),
    ("+/x", "$SYS/x", false), ("$SYS/#", "$SYS/x", true), ("a/+", "a/", true), ("#", "+/x", true),
    ("a/#", "ab", false), ("+", "#", false),
  ])
  func covers(one: String, other: String, expected: Bool) throws {
    let (one, other) = (try TopicFilter(one), try TopicFilter(other))
    #expect(one.covers(other) == expected)
    let left = expected ? [one] : other.covers(one) ? [other] : [other, one]
    #expect([other, one, other].withoutCovered() == left)
  }
}
