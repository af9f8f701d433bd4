import MessageBroker

/// A delivery, recognised by the packet id that the broker gave it and by what it carried.
package struct Fingerprint: Hashable, Sendable {
  package let packetID: UInt16
  package let digest: UInt64

  /// How many are kept: the most deliveries that a broker may have unacknowledged.
  package static let kept = 1024

  package init(packetID: UInt16, digest: UInt64) {
    self.packetID = packetID
    self.digest = digest
  }

  package init(packetID: UInt16, topic: String, payload: [UInt8]) {
    // FNV-1a: stable across processes, which `Hasher` is not. A topic contains no zero byte, so
    // one ends it.
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
