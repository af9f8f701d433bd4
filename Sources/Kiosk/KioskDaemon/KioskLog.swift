import JuiceDomain
import KioskCore
import KioskProtocol
import Logging
import MessageBroker

/// Writes the log for the kiosk owner: a line for each entry. Limits the rate of rejections, and of
/// other lines that senders can cause at will.
struct KioskLog: Sendable {
  private let logger: Logger
  private var lastLogged: [Subject: Record] = [:]
  /// The logged problem of each machine.
  private var problems: [MachineID: MachineReport.State] = [:]
  /// The last problem of each machine, also if it got no line.
  private var seen: [MachineID: MachineReport.State] = [:]
  /// Whether the last line about a machine was suppressed, so that `problems` differs from the reports.
  private(set) var lacksMachine = false

  /// Minimum time between two lines about one subject.
  private static let interval = Duration.seconds(60)

  /// A subject about which senders can cause any number of lines.
  private enum Subject: Hashable {
    case rejected(RejectionReason)
    case unpublished
    case machine(MachineID)
    case sensor(SensorID)
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
      logger.info("#\(entry.seq) added to the ledger: \(amounts)")
    case .ready(let order, _, let ticket):
      logger.info(
        "#\(entry.seq) \(who): \(order.quantity) \(order.juice) ready, ticket \(ticket.number)")
    case .accepted(let order, _, let ticket, let machine, _):
      logger.info(
        "#\(entry.seq) \(who): \(order.quantity) \(order.juice) for \(machine), ticket \(ticket.number)"
      )
    case .awaitingPayment(let order, _, let ticket, let charge, let device):
      let what = "\(order.quantity) \(order.juice), ticket \(ticket.number)"
      logger.info("#\(entry.seq) \(who): \(what) to be paid at \(device), charge \(charge)")
    case .payment(let step):
      let amount = entry.amount.map { " \($0)" } ?? ""
      let reason = step.reason.map { ", \($0)" } ?? ""
      logger.info(
        "#\(entry.seq) \(step.device): charge \(step.charge) \(step.kind.rawValue)\(amount)\(reason)"
      )
    case .total(let total, let device, let difference):
      let sums = "captured \(total.captured), refunded \(total.refunded)"
      let result = difference.map { "difference \($0)" } ?? "not compared: the one before is lost"
      logger.info("#\(entry.seq) \(device): end of day \(total.total), \(sums), \(result)")
    case .sensor(let step):
      let line = "#\(entry.seq) \(who): \(entry.status.rawValue), \(step.summary)"
      let isNormal = entry.source != nil || step.kind == .ok || step.kind == .hour
      isNormal ? logger.info("\(line)") : logger.warning("\(line)")
    case .made(let end):
      let maker = end.machine?.text ?? who
      logger.info("#\(entry.seq) \(maker): job \(end.job) done, ticket \(end.ticket.number)")
    case .failed(let end, let reason, _), .returned(let end, let reason, _):
      let maker = end.machine?.text ?? who
      logger.warning(
        "#\(entry.seq) \(maker): job \(end.job) \(entry.status.rawValue), \(reason)")
    case .decided(let choice, let job, _):
      logger.info("#\(entry.seq) \(who): job \(job) \(choice.rawValue)")
    case .program(let step):
      let reason = step.reason.map { ", \($0)" } ?? ""
      logger.info("#\(entry.seq) \(who): \(entry.status.rawValue), \(step.id)\(reason)")
    case .outOfStock(let order, let missing):
      logger.info(
        "#\(entry.seq) \(who): \(order.quantity) \(order.juice) out of stock, missing \(missing)")
    case .expired(let changes):
      logger.warning("#\(entry.seq) expired: \(changes.times(-1)); take it out of the kiosk")
    case .removed(let removal):
      logger.info("#\(entry.seq) \(who): took out \(removal.amounts), \(removal.reason.rawValue)")
    case .restocked(let changes):
      logger.info("#\(entry.seq) \(who): restocked \(changes.isEmpty ? "nothing" : "\(changes)")")
    case .service(let state):
      logger.info("#\(entry.seq) \(who): \(state.rawValue)")
    case .rejected(let reason, _):
      rejected(reason, from: entry.source, detail: nil, at: entry.at)
    }
  }

  /// Logs each machine that stops working or works again. Call it again later if `lacksMachine`.
  mutating func machines(
    _ reports: [(machine: MachineID, report: MachineReport)], at now: Timestamp
  ) {
    lacksMachine = false
    for (machine, report) in reports {
      let state = report.state.isProblem ? report.state : nil
      // A machine that has not reported yet gets no line: the rejections of its orders are logged.
      if state == .unknown { continue }
      let isNew = seen[machine] != state
      seen[machine] = state
      guard problems[machine] != state else { continue }
      let reason = report.reason.map { ": \($0)" } ?? ""
      let isLogged = warn(
        "machine \(machine) \(state.map { "is \($0.rawValue)\(reason)" } ?? "works again")",
        about: .machine(machine), always: state == nil, isNew: isNew, at: now)
      if isLogged { problems[machine] = state } else { lacksMachine = true }
    }
  }

  /// Logs the disabled machines that make juices. The kiosk sells these juices only if another machine makes them.
  func disabledMachines(of settings: KioskSettings) {
    for machine in settings.machines where !machine.isEnabled && machine.juices != [] {
      let juices = machine.juices.map { $0.map(\.text).sorted().joined(separator: ", ") }
      warn(
        "machine \(machine.name) is disabled or no longer configured: orders for "
          + "\(juices ?? "all juices") are rejected with "
          + "\(RejectionReason.machineDown.rawValue), unless another machine makes "
          + "them. If they need no machine, configure \(machine.name) with 'juices: []'")
    }
  }

  mutating func rejected(
    _ reason: RejectionReason, from source: Source?, detail: String?, at now: Timestamp
  ) {
    let who = source?.description.prefix(100) ?? "kiosk"
    let why = reason.rawValue + (detail.map { ": \($0)" } ?? "")
    warn("\(who): rejected, \(why)", about: .rejected(reason), at: now)
  }

  /// Logs that a message of a sensor is no reading.
  mutating func ignored(_ sensor: SensorID, at now: Timestamp) {
    warn(
      "sensor \(sensor): ignored a message that is retained or has no value that it can measure",
      about: .sensor(sensor), at: now)
  }

  mutating func unpublished(_ error: BrokerError, at now: Timestamp) {
    warn("\(error)", about: .unpublished, at: now)
  }

  /// Logs a warning, at most one per interval about each subject.
  ///
  /// - Parameters:
  ///   - always: Whether to log it also within the interval, as the end of a logged problem.
  ///   - isNew: Whether it is not the last one that was counted.
  /// - Returns: Whether the warning was logged. If not, a new one was counted, and logged as `debug`.
  @discardableResult
  private mutating func warn(
    _ text: @autoclosure () -> String, about subject: Subject, always: Bool = false,
    isNew: Bool = true, at now: Timestamp
  ) -> Bool {
    let last = lastLogged[subject]?.loggedAt
    if !always, let last, (.zero..<Self.interval).contains(now.since(last)) {
      guard isNew else { return false }
      lastLogged[subject]?.suppressed += 1
      logger.debug("\(text())")
      return false
    }
    let suppressed = (lastLogged[subject]?.suppressed ?? 0) - (isNew ? 0 : 1)
    let more =
      suppressed > 0 ? " (and \(suppressed) more for this reason since the last such line)" : ""
    lastLogged[subject] = Record(loggedAt: always ? last ?? now : now)
    logger.warning("\(text())\(more)")
    return true
  }
}
