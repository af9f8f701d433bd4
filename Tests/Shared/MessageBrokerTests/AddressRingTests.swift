import MessageBroker
import Testing

@Suite struct AddressRingTests {
  private let addresses = ["a", "b", "c"].map { BrokerAddress(host: $0, port: 1883) }

  private func attempts(_ ring: inout AddressRing) -> [String] {
    (0..<4).map { _ in ring.next().map(\.host).joined() }
  }

  @Test func eachAttemptBeginsWithTheNext() {
    for _ in 0..<100 {
      var ring = AddressRing(addresses)
      let tried = attempts(&ring)
      #expect(tried[0].sorted() == ["a", "b", "c"])
      for (before, after) in zip(tried, tried.dropFirst()) {
        #expect(after == "\(before.dropFirst())\(before.prefix(1))")
      }
    }
  }

  /// Otherwise all clients of a failed node would connect to the same other node.
  @Test func clientsHaveDifferentOrders() {
    let orders = (0..<1000).map { _ in
      var ring = AddressRing(addresses)
      return attempts(&ring)[0]
    }
    #expect(Set(orders).count == 6)
  }

  @Test func withoutAnyThereIsNone() {
    var ring = AddressRing([])
    #expect(ring.next() == [])
  }
}
