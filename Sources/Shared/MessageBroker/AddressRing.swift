/// The host and port of a broker.
package struct BrokerAddress: Sendable, Hashable, CustomStringConvertible {
  package var host: String
  package var port: UInt16

  package init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  package var description: String { "\(host):\(port)" }
}

/// Rotates the order in which attempts to connect try several addresses.
///
/// An attempt tries the addresses until one accepts, and each attempt begins with the next address,
/// so that not all begin with an unreachable one. Each client has its own random order: the clients
/// of a cluster are spread over its nodes, and the clients of a failed node over the other nodes.
package struct AddressRing: Sendable {
  private let addresses: [BrokerAddress]
  private var index = 0

  package init(_ addresses: [BrokerAddress]) { self.addresses = addresses.shuffled() }

  /// Returns all addresses in the order for the next attempt.
  package mutating func next() -> [BrokerAddress] {
    defer { index += 1 }
    return addresses.indices.map { addresses[(index + $0) % addresses.count] }
  }
}
