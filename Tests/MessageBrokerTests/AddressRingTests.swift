import MessageBroker
import Testing

@Suite struct AddressRingTests {
  private let addresses = ["a", "b", "c"].map { BrokerAddress(host: $0, port: 1883) }

  @Test(arguments: [(0.0, "abcab"), (0.4, "bcabc"), (0.99, "cabca")])
  func eachAttemptGoesToTheNext(chance: Double, hosts: String) {
    var ring = AddressRing(addresses, chance: chance)
    let tried = (0..<5).compactMap { _ in ring.next()?.host }
    #expect(tried.joined() == hosts)
  }

  @Test func withoutAnyThereIsNone() {
    var ring = AddressRing([], chance: 0.5)
    #expect(ring.next() == nil)
  }
}
