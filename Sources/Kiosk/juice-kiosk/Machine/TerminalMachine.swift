import CommandLineSupport
import Foundation
import JuiceDomain
import KioskDaemon
import KioskProtocol
import MessageBroker
import YAMLConfiguration

/// A simulated juice machine in the terminal: follows `MachineFirmware`, with a timer or the
/// keyboard instead of pumps.
actor TerminalMachine: TerminalDevice {
  struct Settings: Sendable {
    var name: MachineID
    var atOnce = 1
    /// Duration of one glass, or `nil` if a person reports the end of each job.
    var glass: Duration?
    /// Number of pours per simulated jam, or 0 for none.
    var failEvery = 0
    /// Percentage of each pour at which a power cut is simulated, or `nil` for none.
    var powerCutAt: Int?
    var hasBars = false
  }

  /// Minimum time that a person needs for a juice. If Enter is pressed earlier, the person has
  /// probably pressed it twice for the previous job.
  private static let shortestJob = Duration.seconds(2)

  /// The exit code after a simulated power cut.
  static let powerCut: Int32 = 79

  private struct Pour {
    enum Outcome { case done, jam, powerCut }

    let order: MachineOrder
    let begun: ContinuousClock.Instant
    /// The time and the kind of the pour's end, or `nil` if a person reports it.
    let ending: (at: ContinuousClock.Instant, kind: Outcome)?
    /// Duration of the whole order; zero if a person reports the end.
    let length: Duration
  }

  private let settings: Settings
  private let memory: LastJobFile
  private let log: PourLog?
  private var firmware: MachineFirmware
  private var pours: [Pour] = []
  private var pourCount = 0
  var link: TerminalLink
  private var topics: KioskTopics { link.topics }

  init(
    _ settings: Settings, _ configuration: KioskConfiguration, memory: LastJobFile,
    log: PourLog?
  ) throws(Failure) {
    self.settings = settings
    self.memory = memory
    self.log = log
    firmware = MachineFirmware(last: memory.last, atOnce: settings.atOnce)
    link = try TerminalLink(
      configuration, clientID: "juice-machine-\(configuration.kiosk.id)-\(settings.name)",
      isLive: settings.hasBars)
  }

  var subscriptions: [String] {
    let name = settings.name
    let result = topics.result(for: Source(kind: .made, name: name.text))
    return [topics.make(by: name), topics.cancel(by: name), result]
  }

  var opening: (line: String, messages: [Message]) {
    ("\(settings.name) is \(link.status.text); its last job was \(firmware.last)", [])
  }

  /// Reports the active jobs as failed.
  func stop() async {
    // If the log cannot record an end, the machine reports the job as unknown after its next start.
    for pour in pours { try? await end(pour, .failed(reason: "stopped", used: nil)) }
  }

  // MARK: Deliveries

  func receive(_ message: Message) throws(JSONError) -> [MachineFirmware.Action]? {
    switch message.topic {
    case topics.make(by: settings.name):
      firmware.make(try MachineOrder(payload: message.payload))
    case topics.cancel(by: settings.name):
      firmware.cancel(try MachineOrder.cancelled(message.payload))
    default: nil
    }
  }

  func perform(_ actions: [MachineFirmware.Action]) async throws(Failure) {
    var messages: [Message] = []
    for action in actions {
      switch action {
      case .store(let job): try memory.store(job)
      case .start(let order): try begin(order)
      case .publish(let answer):
        messages.append(Message(topic: topics.made(by: settings.name), payload: answer.payload))
        if answer.status != .started { link.screen.print("job \(answer.job): \(answer.summary)") }
      }
    }
    await publish(messages)
  }

  // MARK: Pours

  private func begin(_ order: MachineOrder) throws(Failure) {
    pourCount += 1
    let now = ContinuousClock.now
    let length = (settings.glass ?? .zero) * order.quantity
    var ending = (at: now + length, kind: Pour.Outcome.done)
    if let percent = settings.powerCutAt {
      ending = (now + length * percent / 100, .powerCut)
    } else if settings.failEvery > 0, pourCount.isMultiple(of: settings.failEvery) {
      ending = (now + length / 2, .jam)
    }
    try log?.recordStart(order)
    pours.append(
      Pour(
        order: order, begun: now, ending: settings.glass == nil ? nil : ending, length: length))
    let hint =
      settings.glass == nil ? ", each of \(order.recipe); press Enter when it is done" : ""
    let ticket = order.ticket.map { ", ticket \($0)" } ?? ""
    link.screen.print("job \(order.job)\(ticket): \(order.summary)\(hint)")
  }

  /// Time until the next pour ends or the bars need a redraw, or `nil` if only a message or a line
  /// can change the state.
  var wait: Duration? {
    let next = pours.compactMap(\.ending?.at).min().map { max($0 - .now, .zero) }
    return link.screen.isLive ? next.map { min($0, .milliseconds(100)) } : next
  }

  func tick() async throws(Failure) {
    try await endDuePours()
    link.screen.draw(pours.map { bar(of: $0) })
  }

  private func endDuePours() async throws(Failure) {
    let now = ContinuousClock.now
    for pour in pours {
      guard let ending = pour.ending, ending.at <= now else { continue }
      switch ending.kind {
      case .done: try await end(pour, .done)
      case .jam: try await end(pour, .failed(reason: "jam", used: pour.order.half))
      case .powerCut:
        link.screen.print("job \(pour.order.job): simulated power cut")
        // A power cut ends the connection without a DISCONNECT.
        _exit(Self.powerCut)
      }
    }
  }

  private func end(_ pour: Pour, _ status: MachineAnswer.Status) async throws(Failure) {
    guard let index = pours.firstIndex(where: { $0.order.job == pour.order.job }) else { return }
    pours.remove(at: index)
    try log?.recordEnd(pour.order, status)
    try await perform(firmware.finish(pour.order.job, status))
  }

  // MARK: Keyboard

  func type(_ line: String) async throws(Failure) {
    switch MachineLine(line) {
    case .ends(let job, let status):
      guard let pour = pours.first(where: { job == nil || $0.order.job == job }) else {
        return link.screen.print(job.map { "job \($0) is not active" } ?? "no job is active")
      }
      let number = pour.order.job
      if line.isEmpty, ContinuousClock.now - pour.begun < Self.shortestJob {
        return link.screen.print("job \(number) has just begun; press Enter again when it is done")
      }
      if case .failed(_, let used?, _) = status {
        let taken = pour.order.recipe.times(pour.order.quantity)
        let impossible = used.impossible(for: taken)
        guard impossible.isEmpty else {
          return link.screen.print(
            "job \(number) takes \(taken); it cannot have used \(impossible)")
        }
      }
      try await end(pour, status)
    case .waits(let job, let reason):
      guard let job = job ?? pours.first?.order.job else {
        return link.screen.print("no job is active")
      }
      try await perform(firmware.wait(job, for: reason))
    case .status(let status):
      link.status = status
      firmware.isInFault = !status.isOnline
      link.screen.print("\(settings.name) is \(status.text)")
      await publish([message(status)])
    case nil: link.screen.print(MachineLine.help)
    }
  }

  // MARK: Messages

  func message(_ status: MachineStatus) -> Message {
    Message(topic: topics.status(of: settings.name), text: status.text, retain: true)
  }

  private func bar(of pour: Pour) -> String {
    let part =
      pour.length > .zero ? min(1, (ContinuousClock.now - pour.begun) / pour.length) : 1
    let cells = Int(part * 24)
    return "job \(pour.order.job)".padded(to: 10) + pour.order.summary.padded(to: 26)
      + String(repeating: "█", count: cells) + String(repeating: "░", count: 24 - cells)
      + "\(Int(part * 100))%".padded(to: 5, left: true)
  }
}

extension MachineOrder {
  fileprivate var summary: String {
    program?.rawValue ?? juice.map { "\(quantity) \($0)" } ?? ""
  }

  /// Half of the order's fruit, rounded up: the amount that a jam uses up.
  fileprivate var half: FruitAmounts {
    FruitAmounts(recipe.times(quantity).map { (fruit: $0.fruit, amount: ($0.amount + 1) / 2) })
  }
}

extension MachineAnswer {
  fileprivate var summary: String {
    switch status {
    case .failed(let reason, let used, _):
      "failed, \(reason)" + (used.map { "; used \($0)" } ?? "")
    case .waiting(let reason): "waiting: \(reason)"
    case .unknown: "unknown: it was begun or skipped before the restart"
    case .started, .done, .cancelled: status.name
    }
  }
}
