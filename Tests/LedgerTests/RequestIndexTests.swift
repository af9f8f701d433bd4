import JuiceMaker
import KioskMessages
import Testing

@testable import Ledger

@Suite struct RequestIndexTests {
  @Test func theNewestEntryOfARequestComesFirst() {
    var index = RequestIndex()
    index.insert(1, for: "a1", from: panel)
    index.insert(2, for: "a2", from: panel)
    index.insert(7, for: "a1", from: panel)
    #expect(index.entries(of: "a1", from: panel) == [7, 1])
    #expect(index.entries(of: "a2", from: panel) == [2])
    #expect(index.entries(of: "a3", from: panel).isEmpty)
    #expect(index.entries(of: "a1", from: Source(kind: .restock, name: "panel1")).isEmpty)
  }

  @Test func requestsWithOneHashAreAllFound() {
    var index = RequestIndex { _, _ in 1 }
    for (seq, id) in zip(1..., ["a1", "a2", "a3"] as [Request.ID]) {
      index.insert(seq, for: id, from: panel)
    }
    #expect(index.entries(of: "b", from: panel) == [3, 2, 1])
    // In the place of the second: with it goes what is older, too.
    index.insert(RequestIndex.atMost + 2, for: "a1", from: panel)
    #expect(index.entries(of: "b", from: panel) == [RequestIndex.atMost + 2, 3])
  }

  @Test func anEntryIsForgottenWhenItsPlaceIsNeeded() {
    var index = RequestIndex()
    index.insert(5, for: "a1", from: panel)
    index.insert(6, for: "a2", from: panel)
    // Nothing with an id came for so long: what is older still goes when its place is taken.
    index.insert(5 + 3 * RequestIndex.atMost, for: "a3", from: panel)
    #expect(index.entries(of: "a1", from: panel).isEmpty)
    #expect(index.entries(of: "a2", from: panel) == [6])
  }
}
