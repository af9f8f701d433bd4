import MessageBroker

/// Identifies a delivery by its topic, its payload, and the packet id that the broker assigned.
package struct Fingerprint: Hashable, Sendable {
  package let packetID: UInt16
  package let digest: UInt64

  /// Maximum number of fingerprints that the ledger keeps, which is also the maximum number of
  /// unacknowledged deliveries (receive maximum).
  package static let kept = 1024

  package init(packetID: UInt16, digest: UInt64) {
    self.packetID = packetID
    self.digest = digest
  }

  package init(packetID: UInt16, topic: String, payload: [UInt8]) {
    // FNV-1a is stable across processes, which `Hasher` is not. A zero byte separates topic and
    // payload, because no topic contains one.
    var digest: UInt64 = 0xcbf2_9ce4_8422_2325
    func mix(_ byte: UInt8) { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3 }
    topic.utf8.forEach(mix)
    mix(0)
    payload.forEach(mix)
    self.init(packetID: packetID, digest: digest)
  }
}

extension Fingerprint {
  init(_ delivery: Delivery) {
    self.init(
      packetID: delivery.packetID, topic: delivery.message.topic,
      payload: delivery.message.payload)
  }
}
