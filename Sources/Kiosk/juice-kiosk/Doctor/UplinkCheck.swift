import CommandLineSupport
import KioskProtocol
import YAMLConfiguration

/// Checks the uplink: each address, the account, and the number of entries that are not yet
/// confirmed upstream.
///
/// The kiosk sells even if the uplink does not work, so no finding is an error.
struct UplinkCheck {
  let broker: BrokerConfiguration
  let ledger: LedgerView
  let timeout: Duration

  /// Maximum number of unconfirmed entries that is normal: the uplink sends them within seconds,
  /// and the ledger records their confirmation only with a later commit.
  private static let usual = 1000

  func findings() async throws(Failure) -> [Finding] {
    var findings: [Finding] = []
    for address in broker.addresses {
      var node = broker
      (node.host, node.port, node.others) = (address.host, address.port, [])
      findings.append(try await finding(node))
    }
    if let waiting = ledger.waiting, waiting > Self.usual {
      findings.append(.note(.uplink, "the ledger", "\(waiting) entries are not confirmed yet"))
    }
    return findings
  }

  private func finding(_ node: BrokerConfiguration) async throws(Failure) -> Finding {
    let place = "\(node.host):\(node.port)"
    switch Reachability.of(host: node.host, port: node.port, timeout: timeout) {
    case .unknownName(let reason):
      return .warning(
        .uplink, place, "the name cannot be resolved: \(reason)",
        fix: "correct uplink.addresses, or the computer's name resolution")
    case .silent(let reason):
      return .warning(
        .uplink, place, "nothing answers there: \(reason)",
        fix: "check that the broker runs and the network works, or correct uplink.addresses")
    case .answers: break
    }
    do throws(Failure) {
      _ = try await RetainedMessages(of: [], timeout: timeout) { () throws(Failure) in
        try node.makeBroker()
      }
    } catch {
      return .warning(
        .uplink, place, error.message,
        fix: "set uplink.username, uplink.password_file, uplink.tls and uplink.protocol to values "
          + "that the broker accepts")
    }
    return .ok(
      .uplink, place,
      "answers\(node.tls == nil ? "" : ", with TLS")\(node.username.map { ", accepts the login of \($0)" } ?? "")"
    )
  }
}
