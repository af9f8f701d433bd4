package import CommandLineSupport
import JuiceDomain
import KioskProtocol
package import Logging

/// A message that a receiver has accepted or refused.
package struct SentMessage: Hashable, Sendable {
  let at: Timestamp
  let receiver: String
  /// The user who has chosen the message, or `nil` if the configuration names the receiver.
  let user: User.Name?
  let subject: String
  let text: String
  /// The reason why the receiver has refused the message, or `nil` if it was delivered.
  let problem: String?
}

/// The latest messages that were sent, in a file.
package actor SentMessages {
  static let maximum = 500
  private static let maximumText = 1_000

  private let file: StateFile<[SentMessage]>
  private let logger: Logger
  private var messages: [SentMessage]?
  private nonisolated let executor = DiskExecutor(label: "sent messages")
  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    executor.asUnownedSerialExecutor()
  }

  package init(folder: StateFolder, logger: Logger) {
    (file, self.logger) = (Self.file(in: folder), logger)
  }

  static func file(in folder: StateFolder) -> StateFile<[SentMessage]> {
    StateFile(
      folder.path(of: "sent-messages.json"), upTo: 4 << 20, makesFolder: true,
      withoutCopy: "the list begins anew", encode: payload(of:), decode: messages(in:))
  }

  /// The messages, the latest first.
  var all: [SentMessage] { loaded().reversed() }

  /// Stores a message, and removes the oldest above `maximum`.
  package func record(_ message: SentMessage) {
    store((loaded() + [message]).suffix(Self.maximum))
  }

  /// Removes the messages of users who do not exist any more.
  func removeMessages(exceptOf users: Set<User.Name>) {
    let kept = loaded().filter { $0.user.map(users.contains) ?? true }
    if kept.count < loaded().count { store(kept) }
  }

  private func store(_ messages: [SentMessage]) {
    self.messages = messages
    do throws(StateError) { try file.write(messages) } catch { logger.error("\(error)") }
  }

  private func loaded() -> [SentMessage] {
    if let messages { return messages }
    let (stored, problem) = file.load()
    if let problem { logger.error("\(problem)") }
    messages = stored ?? []
    return stored ?? []
  }

  private static func payload(of messages: [SentMessage]) -> [UInt8] {
    JSONWriter.object { json in
      json.member("messages", messages) { json, message in
        json.member("at", message.at.description)
        json.member("to", message.receiver)
        if let user = message.user { json.member("user", user.text) }
        json.member("subject", message.subject)
        json.member("text", String(message.text.prefix(maximumText)))
        if let problem = message.problem { json.member("problem", problem) }
      }
    }
  }

  private static func messages(in payload: [UInt8]) throws -> [SentMessage] {
    guard let elements = try JSON.parse(payload).elements("messages") else {
      throw JSONError("'messages' is missing")
    }
    return try elements.map { message in
      guard let at = message.text("at").flatMap(Timestamp.init), let to = message.text("to"),
        let subject = message.text("subject"), let text = message.text("text")
      else { throw JSONError("a message is incomplete") }
      return SentMessage(
        at: at, receiver: to, user: message.text("user").flatMap { User.Name($0) },
        subject: subject, text: text, problem: message.text("problem"))
    }
  }
}
