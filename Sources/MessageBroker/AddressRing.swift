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
/// next one, so that an address where nobody answers is passed over; the first with any of them, so that the
/// nodes of a cluster share its clients.
package struct AddressRing: Sendable {
  private let addresses: [BrokerAddress]
  private var index: Int

  /// - Parameter chance: from 0 up to but not including 1.
  package init(_ addresses: [BrokerAddress], chance: Double) {
    self.addresses = addresses
    index = Int(Double(addresses.count) * chance)
  }

  /// All of them, as the next attempt tries them.
  package mutating func next() -> [BrokerAddress] {
    defer { index += 1 }
    return addresses.indices.map { addresses[(index + $0) % addresses.count] }
  }
}
