import CCurl

/// The reason why a message was not delivered.
package enum DeliveryError: Error, Hashable, CustomStringConvertible {
  /// The server does not exist, cannot be reached, or cannot accept messages now. A later attempt
  /// may succeed.
  case unreachable(String)
  /// The connection cannot be encrypted, or the server's certificate is not trusted.
  case unencrypted(String)
  /// The server rejects the account, its password, or the token.
  case login(String)
  /// The server refuses this message permanently.
  case refused(String)
  case cancelled

  package var description: String {
    switch self {
    case .unreachable(let detail): detail
    case .unencrypted(let detail): "no encrypted connection that can be trusted: \(detail)"
    case .login(let detail): "the server does not accept the account or its password: \(detail)"
    case .refused(let detail): "the server rejects the message: \(detail)"
    case .cancelled: "cancelled"
    }
  }
}

extension Transfer.Response {
  /// Checks the response of the server.
  ///
  /// - Throws: `DeliveryError` if the message was not delivered.
  func check() throws(DeliveryError) {
    // A response that was cut off at its maximum length counts as complete.
    if let status, code == CURLE_OK || code == CURLE_WRITE_ERROR {
      let detail = "HTTP \(status)" + (responseText.isEmpty ? "" : ": \(responseText)")
      switch status {
      case 200..<300: return
      case 401, 403: throw .login(detail)
      // The message does not cause these statuses: a later attempt may succeed.
      case 300..<400, 404, 405, 408, 410, 429, 500...: throw .unreachable(detail)
      default: throw .refused(detail)
      }
    }
    switch code {
    case CURLE_OK: return
    case CURLE_ABORTED_BY_CALLBACK: throw .cancelled
    case CURLE_LOGIN_DENIED: throw .login(responseText.isEmpty ? problem : responseText)
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_USE_SSL_FAILED,
      CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER:
      throw .unencrypted(problem)
    // A container or a small system may have no authorities.
    case CURLE_SSL_CACERT_BADFILE:
      throw .unencrypted(
        problem.contains("/etc/ssl/certs/")
          ? "\(problem): install the package ca-certificates" : problem)
    default:
      // SMTP codes that begin with 5 are permanent failures, those with 4 are temporary (RFC 5321
      // 4.2.1).
      throw status == nil && responseText.hasPrefix("5")
        ? .refused(responseText)
        : .unreachable(responseText.isEmpty ? problem : "\(problem): \(responseText)")
    }
  }
}
