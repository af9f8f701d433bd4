import JuiceDomain
import Testing

@Suite struct IdentifierTests {
  @Test(arguments: [
    "a", "Z", "0", "_", "-", "strawberry_banana", "A-1_b", String(repeating: "x", count: 64),
  ])
  func anIdentifierIsKeptAsItIs(text: String) throws {
    let id = try #require(Fruit.ID(text))
    #expect(id.text == text)
    #expect(id.description == text)
  }

  @Test(arguments: [
    "", String(repeating: "x", count: 65), " ", "a b", "a/b", "a+", "#", "a.b", "a\n", "a\0",
    "딸기", "é", "ａ", "a\u{301}", "\u{212A}iwi",
  ])
  func anythingElseIsNone(text: String) {
    #expect(Fruit.ID(text) == nil)
  }

  @Test func identifiersAreOrderedByTheirText() {
    let ids: [Fruit.ID] = ["mango", "Kiwi", "banana", "a-1", "a_1"]
    #expect(ids.sorted() == ["Kiwi", "a-1", "a_1", "banana", "mango"])
  }
}
