import MessageBroker

/// A message stored by the broker, with its time of expiry.
struct StoredMessage: Sendable {
  private let message: Message
  private let expiresAt: Duration?
  let sizes: MessageSizes

  init(_ message: Message, at now: Duration) {
    self.message = message
    sizes = MessageSizes(message)
    expiresAt = message.expiry.map { now + .seconds($0) }
  }

  var topic: String { message.topic }
  var qos: QoS { message.qos }
  /// Whether the message was published to be retained.
  var isRetained: Bool { message.retain }

  func isExpired(at now: Duration) -> Bool { expiresAt.map { $0 <= now } ?? false }

  /// Returns the message to send now, with the remaining expiry interval (3.3.2.3.3), rounded up.
  func message(retain: Bool, at now: Duration) -> Message {
    var message = message
    message.retain = retain
    if let left = expiresAt.map({ ($0 - now).components }) {
      message.expiry = UInt32(clamping: left.seconds + (left.attoseconds > 0 ? 1 : 0))
    }
    return message
  }
}
