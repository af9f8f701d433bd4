extension MemoryBroker {
  /// Differences between brokers, within the standard or beyond it, observed by running each.
  package enum Behavior: Sendable, CaseIterable {
    /// Packet ids continue across connections, and a redelivery keeps its packet id (4.4).
    case mosquitto
    /// Packet ids start at 1 on every connection, also for redeliveries: the same message arrives
    /// with another id, and another message with the same id.
    case rabbitMQ
    /// One message is in flight at a time. DUP is set even on the first delivery of a message that
    /// was queued while the client was disconnected.
    case ejabberd

    var packetIDsRestart: Bool { self == .rabbitMQ }
    var marksQueuedAsDuplicate: Bool { self == .ejabberd }
    var inFlightLimit: Int { self == .ejabberd ? 1 : .max }
  }
}
