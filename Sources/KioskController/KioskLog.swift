import KioskMessages
import Ledger
import Logging
import MessageBroker

/// What a kiosk owner reads: a line for each order, and never a flood.
struct KioskLog: Sendable {
  private let logger: Logger
  private var rejections: [RejectionReason: Rejections] = [:]

  /// Rejections for one reason are told at most this often.
  private static let interval = Duration.seconds(60)

  private struct Rejections {
    var toldAt: Timestamp
    var untold = 0
  }

  init(logger: Logger) { self.logger = logger }

  func note(_ text: String) { logger.notice("\(text)") }
  func warn(_ text: String) { logger.warning("\(text)") }
  func fail(_ text: String) { logger.error("\(text)") }

  mutating func entry(_ entry: LedgerEntry) {
    let who = entry.source?.name ?? "kiosk"
    switch entry.outcome {
    case .opened(let amounts):
      logger.info("#\(entry.seq) the ledger holds from now on: \(amounts)")
    case .ready(let order, _, let ticket):
      logger.info(
        "#\(entry.seq) \(who): \(order.quantity) \(order.juice) ready, ticket \(ticket.number)")
    case .outOfStock(let order, let missing):
      logger.info(
        "#\(entry.seq) \(who): \(order.quantity) \(order.juice) out of stock, missing \(missing)")
    case .restocked(let changes):
      logger.info("#\(entry.seq) \(who): restocked \(changes.isEmpty ? "nothing" : "\(changes)")")
    case .service(let state):
      logger.info("#\(entry.seq) \(who): \(state.rawValue)")
    case .rejected(let reason, _):
      rejected(reason, from: entry.source, detail: nil, at: entry.at)
    }
  }

  mutating func rejected(
    _ reason: RejectionReason, from source: Source?, detail: String?, at now: Timestamp
  ) {
    func line() -> String {
      "\(source?.description ?? "kiosk"): rejected, \(reason.rawValue)"
        + (detail.map { ": \($0)" } ?? "")
    }
    if var told = rejections[reason], (.zero..<Self.interval).contains(now.since(told.toldAt)) {
      told.untold += 1
      rejections[reason] = told
      logger.debug("\(line())")
      return
    }
    let untold = rejections[reason]?.untold ?? 0
    let more = untold > 0 ? " (and \(untold) more for this reason since the last such line)" : ""
    rejections[reason] = Rejections(toldAt: now)
    logger.warning("\(line())\(more)")
  }
}
