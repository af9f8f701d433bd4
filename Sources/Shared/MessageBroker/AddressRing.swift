/// Where a broker listens.
package struct BrokerAddress: Sendable, Hashable, CustomStringConvertible {
  package var host: String
  package var port: UInt16

  package init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  package var description: String { "\(host):\(port)" }
}

/// In which order an attempt to connect tries several addresses: until one accepts. Each attempt begins with the
/// next one, so that an address where nobody answers is passed over. Each client has an order of its own: the
/// nodes of a cluster share its clients, and those that are left share those of one that has died.
package struct AddressRing: Sendable {
  private let addresses: [BrokerAddress]
  private var index = 0

  package init(_ addresses: [BrokerAddress]) { self.addresses = addresses.shuffled() }

  /// All of them, as the next attempt tries them.
  package mutating func next() -> [BrokerAddress] {
    defer { index += 1 }
    return addresses.indices.map { addresses[(index + $0) % addresses.count] }
  }
}
