import DashboardWeb
import Delivery
import Foundation
import KioskProtocol
import YAMLConfiguration

extension Notifier.Receiver {
  /// Creates all receivers that the configuration names.
  ///
  /// - Throws: `ConfigurationErrors` if a file with a password, a URL or a token cannot be used.
  static func all(
    _ notify: DashboardConfiguration.Notify
  ) throws(ConfigurationErrors) -> [Self] {
    var receivers =
      try notify.email.map { email throws(ConfigurationErrors) in try all(email) } ?? []
    for (index, post) in notify.posts.enumerated() {
      receivers.append(try Self(post, number: index + 1, baseURL: notify.link))
    }
    return receivers
  }

  /// Returns how to make a receiver from a mail address, or `nil` without a mail server.
  static func byMail(
    _ notify: DashboardConfiguration.Notify
  ) throws(ConfigurationErrors) -> (@Sendable (String) -> Self)? {
    try notify.email.map { email throws(ConfigurationErrors) in try mail(email) }
  }

  /// Creates a receiver for each address. Each address gets a separate mail, so that an invalid
  /// address does not affect the others.
  private static func all(
    _ email: DashboardConfiguration.Email
  ) throws(ConfigurationErrors) -> [Self] {
    email.to.map(try mail(email))
  }

  private static func mail(
    _ email: DashboardConfiguration.Email
  ) throws(ConfigurationErrors) -> @Sendable (String) -> Self {
    var account: (name: String, password: String)?
    if let name = email.username, let password = try email.readPassword() {
      account = (name, password)
    }
    let server = MailServer(
      host: email.host, port: email.port, encryption: email.tls.encryption, caFile: email.caFile,
      account: account, helo: email.helo)
    return { address in
      Self("mail to \(address)") { notification in
        await outcome { () throws(DeliveryError) in
          try await server.send(
            Mail(
              from: email.from, to: address, subject: notification.subject, text: notification.text,
              id: notification.id, date: notification.at.date))
        }
      }
    }
  }

  private init(
    _ post: DashboardConfiguration.Post, number: Int, baseURL: String
  ) throws(ConfigurationErrors) {
    let url = try post.readURL()
    let address = Webhook(url: url, token: try post.readToken(), caFile: post.caFile)
    // The name contains only the host, because the rest of the URL may contain a secret.
    let host = URL(string: url)?.host() ?? ""
    let service = ChatService(url: url)
    self.init("post \(number) to \(host)", maximumLength: post.format.maximumLength) {
      notification in
      await Self.outcome { () throws(DeliveryError) in
        switch post.format {
        case .text:
          try await address.send(
            Array(ChatService.other.text(notification, baseURL: baseURL).utf8),
            type: "text/plain; charset=utf-8", id: notification.id)
        case .json:
          try await address.send(
            service.json(notification, baseURL: baseURL), type: "application/json",
            id: notification.id)
        }
      }
    }
  }

  private static func outcome(
    _ send: () async throws(DeliveryError) -> Void
  ) async -> Notifier.Outcome {
    do throws(DeliveryError) {
      try await send()
      return .delivered
    } catch {
      return if case .refused = error { .refused("\(error)") } else { .failed("\(error)") }
    }
  }
}

extension DashboardConfiguration.PostFormat {
  /// The smallest maximum length among the services that accept the format.
  fileprivate var maximumLength: NotificationFormatter.MaximumLength {
    switch self {
    case .text: .bytes(4_096)
    case .json: .characters(2_000)
    }
  }
}

extension DashboardConfiguration.MailEncryption {
  fileprivate var encryption: MailServer.Encryption {
    switch self {
    case .startTLS: .startTLS
    case .implicit: .implicit
    case .none: .none
    }
  }
}

extension Timestamp {
  fileprivate var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
