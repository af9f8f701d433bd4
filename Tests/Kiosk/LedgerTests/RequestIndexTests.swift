import Testing

@testable import Ledger

@Suite struct RequestIndexTests {
  private func hash(_ source: String, _ id: String) -> UInt32 {
    Array(source.utf8).withUnsafeBytes { source in
      Array(id.utf8).withUnsafeBytes { RequestIndex.hash(source, $0) }
    }
  }

  @Test func theNewestEntryOfARequestComesFirst() {
    var index = RequestIndex()
    index.insert(1, hash("order/p1", "a1"))
    index.insert(2, hash("order/p1", "a2"))
    index.insert(7, hash("order/p1", "a1"))
    #expect(index.entries(hash("order/p1", "a1")) == [7, 1])
    #expect(index.entries(hash("order/p1", "a2")) == [2])
    #expect(index.entries(hash("order/p1", "a3")).isEmpty)
    #expect(index.entries(hash("restock/p1", "a1")).isEmpty)
  }

  @Test func requestsWithOneHashAreAllFound() {
    var index = RequestIndex()
    for seq in 1...3 { index.insert(seq, 1) }
    #expect(index.entries(1) == [3, 2, 1])
    // Replaces the second entry, which also ends the list before the first.
    index.insert(RequestIndex.kept + 2, 1)
    #expect(index.entries(1) == [RequestIndex.kept + 2, 3])
  }

  @Test func anEntryIsForgottenWhenItsPlaceIsNeeded() {
    var index = RequestIndex()
    index.insert(5, 1)
    index.insert(6, 2)
    // No entry with an id was added in between. The older entry is replaced nevertheless.
    index.insert(5 + 3 * RequestIndex.kept, 3)
    #expect(index.entries(1).isEmpty)
    #expect(index.entries(2) == [6])
  }
}
