/// A URL that receives messages by HTTP POST.
package struct Webhook: Sendable {
  private let url: String
  private let token: String?
  private let caFile: String?

  /// Creates a receiver of messages.
  ///
  /// - Parameters:
  ///   - url: A URL with the scheme `http` or `https`.
  ///   - token: The token for `Authorization: Bearer` (RFC 6750), in printable ASCII; or `nil` to
  ///     send no such header.
  ///   - caFile: A PEM file of trusted certificates, or `nil` for those of the system.
  package init(url: String, token: String? = nil, caFile: String? = nil) {
    (self.url, self.token, self.caFile) = (url, token, caFile)
  }

  /// Sends a message.
  ///
  /// - Parameters:
  ///   - type: The media type of the body, such as `text/plain; charset=utf-8`.
  ///   - id: An identifier that is equal for each attempt, so that the receiver can detect
  ///     duplicates.
  /// - Throws: `DeliveryError` if the server has not confirmed that it accepts the message.
  package func send(
    _ body: [UInt8], type: String, id: String
  ) async throws(DeliveryError) {
    let scheme = url.lowercased().hasPrefix("https:") ? "https" : "http"
    let transfer = Transfer(
      scheme: scheme, url: url, caFile: caFile,
      content: .post(
        body: body,
        headers: ["Content-Type: \(type)", "Idempotency-Key: \(id)", "User-Agent: juice-dashboard"]
          + (token.map { ["Authorization: Bearer \($0)"] } ?? [])))
    try await transfer.run().check()
  }
}
