import MessageBroker

/// A message in the broker's keeping, with the moment when it expires.
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
  /// It was published to be retained.
  var isRetained: Bool { message.retain }

  func isExpired(at now: Duration) -> Bool { expiresAt.map { $0 <= now } ?? false }

  /// The message as it is sent now: the expiry is what is left of it (3.3.2.3.3), rounded up.
  func message(retain: Bool, at now: Duration) -> Message {
    var message = message
    message.retain = retain
    if let left = expiresAt.map({ ($0 - now).components }) {
      message.expiry = UInt32(clamping: left.seconds + (left.attoseconds > 0 ? 1 : 0))
    }
    return message
  }
}
