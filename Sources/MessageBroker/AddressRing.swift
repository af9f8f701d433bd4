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

/// Which of several addresses the next attempt to connect goes to: one after the other, so that one
/// where nobody answers is passed over. The first is any of them, so that the nodes of a cluster share
/// its clients.
package struct AddressRing: Sendable {
  private let addresses: [BrokerAddress]
  private var index: Int

  /// - Parameter chance: from 0 up to but not including 1.
  package init(_ addresses: [BrokerAddress], chance: Double) {
    self.addresses = addresses
    index = Int(Double(addresses.count) * chance)
  }

  /// `nil` if there are none.
  package mutating func next() -> BrokerAddress? {
    guard !addresses.isEmpty else { return nil }
    defer { index += 1 }
    return addresses[index % addresses.count]
  }
}
