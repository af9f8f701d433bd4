/// A mail submission server (RFC 6409) and the account on it.
package struct MailServer: Sendable {
  package enum Encryption: Sendable {
    /// TLS from the first byte (RFC 8314).
    case implicit
    /// TLS after STARTTLS, before the login and the message (RFC 3207).
    case startTLS
    case none
  }

  private let url: String
  private let encryption: Encryption
  private let caFile: String?
  private let account: (name: String, password: String)?
  private let helo: String?

  /// Creates a server to which each message is sent over a connection of its own.
  ///
  /// - Parameters:
  ///   - caFile: A PEM file of trusted certificates, or `nil` for the system's.
  ///   - helo: The name of this computer for EHLO, or `nil` for its fully qualified name.
  package init(
    host: String, port: Int, encryption: Encryption, caFile: String? = nil,
    account: (name: String, password: String)? = nil, helo: String? = nil
  ) {
    let host = host.contains(":") ? "[\(host)]" : host
    url = "\(encryption == .implicit ? "smtps" : "smtp")://\(host):\(port)"
    (self.encryption, self.caFile, self.account) = (encryption, caFile, account)
    self.helo = helo
  }

  /// Sends a mail.
  ///
  /// - Throws: `DeliveryError` if the server has not confirmed that it accepts the mail.
  package func send(_ mail: Mail) async throws(DeliveryError) {
    let transfer = Transfer(
      scheme: encryption == .implicit ? "smtps" : "smtp", url: url, caFile: caFile,
      content: .mail(
        from: mail.from, to: mail.to, text: mail.bytes, mustEncrypt: encryption != .none,
        helo: helo),
      username: account?.name, password: account?.password)
    try await transfer.run().check()
  }
}
