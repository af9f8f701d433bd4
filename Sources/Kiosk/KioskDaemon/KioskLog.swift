import KioskProtocol
import Logging
import MessageBroker

/// What a kiosk owner reads: a line for each order, and never a flood.
struct KioskLog: Sendable {
  private let logger: Logger
  private var lastLogged: [Subject: Record] = [:]
  /// What is wrong with machines, as it was told.
  private var problems: [MachineID: MachineReport.State] = [:]

  /// One subject is told at most this often.
  private static let interval = Duration.seconds(60)

  /// What senders can make happen as often as they like.
  private enum Subject: Hashable {
    case rejected(RejectionReason)
    case unpublished
    case machine(MachineID)
  }

  private struct Record {
    var loggedAt: Timestamp
    var suppressed = 0
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
    case .accepted(let order, _, let ticket, let machine, _):
      logger.info(
        "#\(entry.seq) \(who): \(order.quantity) \(order.juice) for \(machine), ticket \(ticket.number)"
      )
    case .made(let end):
      logger.info("#\(entry.seq) \(end.machine): job \(end.job) done, ticket \(end.ticket.number)")
    case .failed(let end, let reason, _), .returned(let end, let reason, _):
      logger.warning(
        "#\(entry.seq) \(end.machine): job \(end.job) \(entry.status.rawValue), \(reason)")
    case .decided(let choice, let job, _):
      logger.info("#\(entry.seq) \(who): job \(job) \(choice.rawValue)")
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

  /// Says of each machine when it stops working, and when it works again.
  mutating func machines(
    _ reports: [(machine: MachineID, report: MachineReport)], at now: Timestamp
  ) {
    for (machine, report) in reports {
      let state = report.state.isProblem ? report.state : nil
      // What is not heard of yet is told by its orders.
      guard state != .unknown, problems[machine] != state else { continue }
      let reason = report.reason.map { ": \($0)" } ?? ""
      let isLogged = warn(
        "machine \(machine) \(state.map { "is \($0.rawValue)\(reason)" } ?? "works again")",
        about: .machine(machine), at: now)
      if isLogged { problems[machine] = state }
    }
  }

  mutating func rejected(
    _ reason: RejectionReason, from source: Source?, detail: String?, at now: Timestamp
  ) {
    let who = source?.description.prefix(100) ?? "kiosk"
    let why = reason.rawValue + (detail.map { ": \($0)" } ?? "")
    warn("\(who): rejected, \(why)", about: .rejected(reason), at: now)
  }

  mutating func unpublished(_ error: BrokerError, at now: Timestamp) {
    warn("\(error)", about: .unpublished, at: now)
  }

  /// - Returns: whether it is told, and not only counted.
  @discardableResult
  private mutating func warn(
    _ text: @autoclosure () -> String, about subject: Subject, at now: Timestamp
  ) -> Bool {
    if let line = lastLogged[subject], (.zero..<Self.interval).contains(now.since(line.loggedAt)) {
      lastLogged[subject]?.suppressed += 1
      logger.debug("\(text())")
      return false
    }
    let suppressed = lastLogged[subject]?.suppressed ?? 0
    let more =
      suppressed > 0 ? " (and \(suppressed) more for this reason since the last such line)" : ""
    lastLogged[subject] = Record(loggedAt: now)
    logger.warning("\(text())\(more)")
    return true
  }
}
