/// A server that takes mail for others (RFC 6409), and the account there.
package struct MailServer: Sendable {
  package enum Encryption: Sendable {
    /// From the first byte (RFC 8314).
    case implicit
    /// Before anything that matters is said (RFC 3207).
    case startTLS
    case none
  }

  private let url: String
  private let encryption: Encryption
  private let caFile: String?
  private let account: (name: String, password: String)?

  /// - Parameter caFile: PEM; `nil`: the authorities that the system trusts.
  package init(
    host: String, port: Int, encryption: Encryption, caFile: String? = nil,
    account: (name: String, password: String)? = nil
  ) {
    let host = host.contains(":") ? "[\(host)]" : host
    url = "\(encryption == .implicit ? "smtps" : "smtp")://\(host):\(port)"
    (self.encryption, self.caFile, self.account) = (encryption, caFile, account)
  }

  /// - Throws: why the server has not taken the mail, as far as anybody knows.
  package func send(_ mail: Mail) async throws(DeliveryError) {
    let transfer = Transfer(
      scheme: encryption == .implicit ? "smtps" : "smtp", url: url, caFile: caFile,
      content: .mail(
        from: mail.from, to: mail.to, text: mail.bytes, mustEncrypt: encryption != .none),
      username: account?.name, password: account?.password)
    try await transfer.run().check()
  }
}
