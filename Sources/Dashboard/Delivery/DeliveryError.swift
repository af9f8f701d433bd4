import CCurl

/// Why something was not delivered, for whoever looks after the dashboard.
package enum DeliveryError: Error, Hashable, CustomStringConvertible {
  /// There is no such server, it cannot be reached, or it does not answer.
  case unreachable(String)
  /// The server cannot be trusted, or does not encrypt.
  case unencrypted(String)
  /// The server does not know the account, or another password of it.
  case login(String)
  /// The server does not take this message.
  case refused(String)
  case cancelled

  package var description: String {
    switch self {
    case .unreachable(let detail): detail
    case .unencrypted(let detail): "no encrypted connection that can be trusted: \(detail)"
    case .login(let detail): "the server does not accept the account or its password: \(detail)"
    case .refused(let detail): "the server does not take the message: \(detail)"
    case .cancelled: "cancelled"
    }
  }
}

extension Transfer.Response {
  /// - Throws: why the message was not delivered.
  func check() throws(DeliveryError) {
    // An answer that was cut off because it is too long is an answer, too.
    if let status, code == CURLE_OK || code == CURLE_WRITE_ERROR {
      let detail = "HTTP \(status)" + (responseText.isEmpty ? "" : ": \(responseText)")
      switch status {
      case 200..<300: return
      case 401, 403: throw .login(detail)
      // The message is not to blame: it may be taken later.
      case 300..<400, 404, 405, 408, 410, 429, 500...: throw .unreachable(detail)
      default: throw .refused(detail)
      }
    }
    switch code {
    case CURLE_OK: return
    case CURLE_ABORTED_BY_CALLBACK: throw .cancelled
    case CURLE_LOGIN_DENIED: throw .login(responseText.isEmpty ? problem : responseText)
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_USE_SSL_FAILED,
      CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER:
      throw .unencrypted(problem)
    default:
      // SMTP refuses for ever by a 5, and for now by a 4.
      throw responseText.hasPrefix("5")
        ? .refused(responseText)
        : .unreachable(responseText.isEmpty ? problem : "\(problem): \(responseText)")
    }
  }
}
