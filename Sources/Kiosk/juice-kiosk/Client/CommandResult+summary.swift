import JuiceDomain
import KioskProtocol

extension CommandResult {
  /// A one-line description for a person at a terminal.
  var summary: String {
    var parts: [String] = []
    switch status {
    case .ready: parts.append(message ?? "ready")
    case .accepted:
      parts.append(message ?? device.map { "requested from \($0)" } ?? "accepted")
    case .awaitingPayment: parts.append(message ?? "to be paid")
    case .failed:
      parts.append(message ?? "failed")
      if let failure { parts.append(failure) }
    case .outOfStock: parts.append(message ?? "out of stock")
    case .applied:
      parts.append(machine.map { "requested from \($0), job \(seq ?? 0)" } ?? "done")
    case .rejected: parts.append("rejected (\(reason?.rawValue ?? "no reason given"))")
    }
    if let amount { parts.append("\(amount)") }
    if let ticket { parts.append("ticket \(ticket)") }
    if let missing { parts.append("missing \(missing)") }
    if let detail { parts.append(detail) }
    if isDuplicate { parts.append("duplicate") }
    if let stock, status != .rejected || reason == .conflict { parts.append("stock \(stock)") }
    // A message is a sentence.
    if parts.count > 1, parts[0].hasSuffix(".") { parts[0].removeLast() }
    return parts.joined(separator: "; ")
  }
}
