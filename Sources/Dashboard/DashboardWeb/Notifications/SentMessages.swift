package import CommandLineSupport
import JuiceDomain
package import KioskProtocol
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
  fileprivate static let maximumText = 1_000

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
      listing: "messages", withoutCopy: "the list begins anew")
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
}

extension SentMessage: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    at = try members.required("at", \.at)
    receiver = try members.required("to", \.receiver)
    user = members.optional("user", \.user)
    subject = try members.required("subject", \.subject)
    text = try members.required("text", { String($0.text.prefix(SentMessages.maximumText)) })
    problem = members.optional("problem", \.problem)
  }
}
