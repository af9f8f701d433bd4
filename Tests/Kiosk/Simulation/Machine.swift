import InMemoryBroker
import KioskProtocol
import MessageBroker

/// A simulated machine, built from the rules in machine-contract.md: the state that survives
/// its power cycles, and its malfunctions.
package final class Machine {
  /// A malfunction that happens at the next opportunity.
  package enum Malfunction: Hashable, Sendable {
    case crash(Moment)
    /// The machine makes half a juice and fails; `tellsUsed` is whether it reports the fruit used.
    case fails(tellsUsed: Bool)
    /// The machine starts and never finishes.
    case stalls
    /// The machine reports the end without pouring.
    case falseDone
    /// The machine pours although it reports a cancellation.
    case falseCancelled
    /// The machine sends its next answer twice, or 40 seconds late.
    case repeats, isLate
  }

  package enum Moment: Hashable, Sendable, CaseIterable {
    case beforeFlash, afterFlash, afterStarted, midPour, beforeDone, afterDone
  }

  let name: String
  /// The number of the last job, in flash memory.
  private(set) var last = 0
  /// Number of pours started for each job.
  private(set) var poured: [Int: Int] = [:]
  /// Whether the machine has kept the contract: no false answer, and no erased flash.
  private(set) var keepsContract = true
  /// The reason why the machine cannot work, or `nil` if it can.
  private(set) var fault: String?
  private var malfunctions: [Malfunction] = []
  private(set) var board: Board?
  private let keepsSession: Bool
  private let broker: MemoryBroker
  private let executor: ManualExecutor
  private var task: Task<Void, Never>?

  init(_ name: String, keepsSession: Bool, _ broker: MemoryBroker, _ executor: ManualExecutor) {
    (self.name, self.keepsSession) = (name, keepsSession)
    (self.broker, self.executor) = (broker, executor)
  }

  var clientID: String { "machine-\(name)" }

  private var will: Message { status("offline") }

  func status(_ text: String) -> Message {
    Message(topic: "kiosk/k1/machine/\(name)/status", text: text, retain: true)
  }

  // MARK: Power

  func powerOn() {
    guard board == nil else { return }
    // Both run on one thread.
    nonisolated(unsafe) let machine = self
    let board = Board(machine, broker.client(on: executor), clock: broker)
    self.board = board
    let options = SessionOptions(
      clientID: clientID,
      subscriptions: ["", "/cancel"].map { TopicFilter(unchecked: "kiosk/k1/make/\(name)\($0)") },
      will: will, cleanStart: !keepsSession, sessionExpiry: keepsSession ? .seconds(3600) : .zero)
    task = Task(executorPreference: executor) { await board.run(options) }
  }

  /// Ends the connection. The broker publishes the will.
  func powerOff() {
    guard let board else { return }
    self.board = nil
    broker.kill(board.client)
    task?.cancel()
  }

  /// Erases the flash memory, as installing new firmware does.
  func eraseFlash() {
    powerOff()
    (last, keepsContract) = (0, false)
  }

  // MARK: Malfunctions

  func schedule(_ malfunction: Malfunction) { malfunctions.append(malfunction) }

  func repair() {
    malfunctions = []
    fault = nil
  }

  func setFault(_ fault: String?) { self.fault = fault }

  /// Returns whether a malfunction is scheduled, and removes it.
  func takeMalfunction(_ malfunction: Malfunction) -> Bool {
    guard let index = malfunctions.firstIndex(of: malfunction) else { return false }
    malfunctions.remove(at: index)
    if malfunction == .falseDone || malfunction == .falseCancelled { keepsContract = false }
    return true
  }

  func breakContract() { keepsContract = false }

  // MARK: Calls of the firmware

  func store(_ job: Int) { last = job }

  func recordPour(_ job: Int) { poured[job, default: 0] += 1 }
}

/// A machine between power on and power off.
actor Board {
  nonisolated let client: MemoryClient
  nonisolated var unownedExecutor: UnownedSerialExecutor { client.unownedExecutor }
  // All run on one thread.
  nonisolated(unsafe) private unowned let machine: Machine
  private let clock: MemoryBroker
  /// The last answer about the last job, or `nil` after a power cycle.
  private var known: Answer?
  private var pours: [Pour] = []
  private var late: [(at: Duration, answer: Answer)] = []
  private var crashesAfterwards = false

  struct Answer {
    let job: Int
    let status: String
    var rest = ""

    var payload: String { #"{"job":\#(job),"status":"\#(status)"\#(rest)}"# }
  }

  private struct Pour {
    let job: Int
    /// The time at which the pour ends, or `nil` if it has stalled.
    let end: Duration?
    let answer: Answer
    var crashAt: Duration?
  }

  init(_ machine: Machine, _ client: MemoryClient, clock: MemoryBroker) {
    (self.machine, self.client, self.clock) = (machine, client, clock)
  }

  private var isOn: Bool { machine.board === self }

  func run(_ options: SessionOptions) async {
    await client.connect(options)
    while isOn, !Task.isCancelled {
      let event = await client.nextEvent(timeout: wait)
      guard isOn else { return }
      switch event {
      case .online: publishStatus()
      case .deliveries(let deliveries):
        for delivery in deliveries where isOn { receive(delivery.message) }
      case .offline, .confirmed, .updated, .refused, .sessionBegan, nil: break
      }
      if isOn { fireTimers() }
      guard isOn else { return }
      await client.acknowledge()
      if crashesAfterwards { machine.powerOff() }
    }
  }

  private func publishStatus() {
    publish(machine.status(machine.fault.map { "fault: \($0)" } ?? "online"))
  }

  func faultChanged() {
    publishStatus()
    client.assumeIsolated { _ = $0.acknowledge() }
  }

  // MARK: The four rules

  private func receive(_ message: Message) {
    guard let order = try? JSON.parse(message.payload), case .integer(let job) = order["job"] else {
      return
    }
    if job < machine.last { return send(Answer(job: job, status: "unknown")) }
    if job == machine.last { return send(known ?? Answer(job: job, status: "unknown")) }
    if machine.takeMalfunction(.crash(.beforeFlash)) { return machine.powerOff() }
    machine.store(job)
    known = nil
    if machine.takeMalfunction(.crash(.afterFlash)) { return machine.powerOff() }
    if message.topic.hasSuffix("/cancel") {
      finish(Answer(job: job, status: "cancelled"))
    } else if let fault = machine.fault {
      finish(Answer(job: job, status: "failed", rest: #","reason":"\#(fault)","used":{}"#))
    } else {
      begin(job, order)
    }
  }

  private func begin(_ job: Int, _ order: JSON) {
    send(Answer(job: job, status: "started"))
    known = Answer(job: job, status: "started")
    if machine.takeMalfunction(.crash(.afterStarted)) {
      crashesAfterwards = true
      return
    }
    if machine.takeMalfunction(.falseDone) { return finish(Answer(job: job, status: "done")) }
    machine.recordPour(job)
    if machine.takeMalfunction(.falseCancelled) {
      return finish(Answer(job: job, status: "cancelled"))
    }
    var answer = Answer(job: job, status: "done")
    if machine.takeMalfunction(.fails(tellsUsed: false)) {
      answer = Answer(job: job, status: "failed", rest: #","reason":"jam""#)
    } else if machine.takeMalfunction(.fails(tellsUsed: true)) {
      let used = job % 2 == 0 ? #"{"kiwi":1}"# : #"{"banana":2}"#
      answer = Answer(job: job, status: "failed", rest: #","reason":"blocked","used":\#(used)"#)
    }
    let length = Duration.seconds(1 + job % 6)
    let isStalled = machine.takeMalfunction(.stalls)
    pours.append(
      Pour(
        job: job, end: isStalled ? nil : clock.now + length, answer: answer,
        crashAt: machine.takeMalfunction(.crash(.midPour)) ? clock.now + length / 2 : nil))
  }

  private func finish(_ answer: Answer) {
    // The machine stores nothing about jobs before the last one.
    if answer.job == machine.last { known = answer }
    send(answer)
  }

  // MARK: Timers

  private var wait: Duration? {
    (pours.flatMap { [$0.end, $0.crashAt] } + late.map(\.at)).compactMap(\.self).min()
      .map { max($0 - clock.now, .zero) }
  }

  private func fireTimers() {
    let now = clock.now
    if pours.contains(where: { $0.crashAt.map { $0 <= now } ?? false }) {
      return machine.powerOff()
    }
    for pour in pours where pour.end.map({ $0 <= now }) ?? false {
      pours.removeAll { $0.job == pour.job }
      if machine.takeMalfunction(.crash(.beforeDone)) { return machine.powerOff() }
      finish(pour.answer)
      if machine.takeMalfunction(.crash(.afterDone)) { crashesAfterwards = true }
    }
    for answer in late where answer.at <= now { publish(answer.answer) }
    late.removeAll { $0.at <= now }
  }

  // MARK: Answers

  /// Publishes an answer about any job.
  func publishStray(_ answer: Answer) {
    publish(answer)
    client.assumeIsolated { _ = $0.acknowledge() }
  }

  private func send(_ answer: Answer) {
    if machine.takeMalfunction(.isLate) { return late.append((clock.now + .seconds(40), answer)) }
    publish(answer)
    if machine.takeMalfunction(.repeats) { publish(answer) }
  }

  private func publish(_ answer: Answer) {
    publish(Message(topic: "kiosk/k1/made/\(machine.name)", text: answer.payload))
  }

  private func publish(_ message: Message) {
    client.assumeIsolated { _ = try? $0.publish([message]) }
  }
}
