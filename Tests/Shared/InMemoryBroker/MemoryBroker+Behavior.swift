extension MemoryBroker {
  /// Where brokers differ within the standard, or beside it: each was run to see it.
  package enum Behavior: Sendable, CaseIterable {
    /// Packet ids count on from connection to connection, and a redelivery keeps its own (4.4).
    case mosquitto
    /// Packet ids start at 1 on every connection, for redeliveries too: the same message comes with
    /// another id, and another message with the same id.
    case rabbitMQ
    /// One message in flight at a time. DUP is set even on the first delivery of what was queued
    /// while the client was away.
    case ejabberd

    var packetIDsRestart: Bool { self == .rabbitMQ }
    var marksQueuedAsDuplicate: Bool { self == .ejabberd }
    var inFlightLimit: Int { self == .ejabberd ? 1 : .max }
  }
}
