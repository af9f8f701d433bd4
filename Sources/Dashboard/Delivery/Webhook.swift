/// Where messages go by HTTP POST.
package struct Webhook: Sendable {
  private let url: String
  private let token: String?
  private let caFile: String?

  /// - Parameters:
  ///   - url: `http` or `https`.
  ///   - token: for `Authorization: Bearer` (RFC 6750); of printable ASCII.
  ///   - caFile: PEM; `nil`: the authorities that the system trusts.
  package init(url: String, token: String? = nil, caFile: String? = nil) {
    (self.url, self.token, self.caFile) = (url, token, caFile)
  }

  /// - Parameters:
  ///   - type: what the body is: `text/plain; charset=utf-8`.
  ///   - id: the same for each attempt: by it the receiver may know a message that it has already.
  /// - Throws: why the server has not taken the message, as far as anybody knows.
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
