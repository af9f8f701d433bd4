import MessageBroker
import Testing

@Suite struct AddressRingTests {
  private let addresses = ["a", "b", "c"].map { BrokerAddress(host: $0, port: 1883) }

  @Test(arguments: [
    (0.0, ["abc", "bca", "cab", "abc"]), (0.4, ["bca", "cab", "abc", "bca"]),
    (0.99, ["cab", "abc", "bca", "cab"]),
  ])
  func eachAttemptBeginsWithTheNext(chance: Double, attempts: [String]) {
    var ring = AddressRing(addresses, chance: chance)
    #expect(attempts.map { _ in ring.next().map(\.host).joined() } == attempts)
  }

  @Test func withoutAnyThereIsNone() {
    var ring = AddressRing([], chance: 0.5)
    #expect(ring.next() == [])
  }
}
