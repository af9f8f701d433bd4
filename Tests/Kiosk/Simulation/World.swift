import Foundation
import InMemoryBroker
import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol
import Ledger
import Logging
import MessageBroker
import Synchronization

/// The client identifier of the kiosk's session with the broker.
private let kioskID = "kiosk"

/// One simulated kiosk with its broker, disk, clock, machines and clients, all on one thread. The
/// controller and the ledger are the production code; everything around them fails as the schedule
/// demands.
///
/// ```swift
/// let world = try World(rules: Schedule.Rules())
/// defer { world.close() }
/// let press = Sending(from: "order/p1", content: .order(juice: "kiwi", quantity: 1))
/// for step in [Step.start, .crash(after: 3), .send([press]), .start] { try world.perform(step) }
/// try world.recover()
/// print(world.violation?.description ?? "no violation")
/// ```
///
/// The world observes the kiosk's calls to the broker (`InterceptingClient`), its ledger, and the
/// messages that clients and displays receive. `Auditor` compares them with `Model`.
///
/// Unchecked, because one thread uses it: all tasks run on the executor, while a step runs it.
package final class World: @unchecked Sendable {
  /// A deliberate bug, which tests that the simulation detects it.
  package enum InjectedBug: CaseIterable, Sendable {
    /// The kiosk acknowledges deliveries before it commits them.
    case acknowledgesEarly
    /// The kiosk receives redeliveries without their DUP flag.
    case hidesRedelivery
    /// A new configuration does not reach a running kiosk, but counts as applied.
    case ignoresReload
  }

  let injectedBug: InjectedBug?
  private let rules: Schedule.Rules
  var settings: KioskSettings
  let broker: MemoryBroker
  let executor = ManualExecutor()
  private let clock = Clock()
  private let disk: Disk
  var auditor: Auditor
  private(set) var kiosk: Process?
  /// Whether the kiosk has received another configuration and has not applied it yet.
  var isReloading = false
  private var crashIn: Int?
  /// Whether the kiosk has received deliveries that may have become ledger entries.
  private(set) var hasWork = false
  private var isDiskFailing = false
  private var isBrokerRunning = true
  private var sender: SimulatedClient
  private var cycles: (at: Duration, count: Int) = (.zero, 0)
  let machines: [Machine]
  let terminals: [Terminal]
  private var display: SimulatedClient

  struct Process {
    let client: MemoryClient
    let controller: Controller
    /// The process's own connection. The world reads it only while the process does not run.
    let ledger: KioskLedger
    let task: Task<Void, Never>
  }

  private struct SimulatedClient {
    let listener: Listener
    let task: Task<Void, Never>
  }

  /// The wall clock: the broker's time plus an offset.
  private final class Clock: Sendable {
    /// Two minutes before midnight UTC.
    private static let start: Int64 = 1_795_305_480_000
    private let offset = Mutex<Int64>(start)

    func set(ahead seconds: Int) { offset.withLock { $0 += Int64(seconds) * 1000 } }

    func now(_ broker: MemoryBroker) -> Int64 {
      offset.withLock(\.self) + broker.now.milliseconds
    }
  }

  package init(rules: Schedule.Rules, injectedBug: InjectedBug? = nil) throws {
    self.rules = rules
    self.injectedBug = injectedBug
    settings = try Self.settings(rules)
    broker = MemoryBroker(behavior: rules.behavior, queueLimit: 10_000)
    disk = try Disk(ledger: try Self.newLedger.get())
    auditor = Auditor(rules: rules)
    sender = Self.makeClient("people", subscribedTo: Auditor.answerFilters, broker, executor)
    display = Self.makeClient("display", subscribedTo: Auditor.displayFilters, broker, executor)
    machines = rules.makers.enumerated().map { [broker, executor] in
      Machine($1.name, keepsSession: rules.keepsSession, broker, executor)
    }
    terminals = Terminal.all(rules.terminals).map { [broker, executor] in
      Terminal($0, broker, executor)
    }
    for machine in machines { machine.powerOn() }
    for terminal in terminals { terminal.powerOn() }
    executor.run()
  }

  /// Cancels all tasks. A task that still waits would never end, and would keep the world in
  /// memory.
  package func close() {
    kiosk?.task.cancel()
    for person in [sender, display] { person.task.cancel() }
    for machine in machines { machine.powerOff() }
    for terminal in terminals { terminal.powerOff() }
    executor.run()
    disk.remove()
  }

  // MARK: Schedule

  /// The first violation of the contract, or `nil` if there is none.
  package var violation: Violation? { auditor.violation }

  /// Returns the trace since the previous call.
  package func takeTrace() -> [String] { auditor.takeTrace() }

  package func perform(_ step: Step) throws {
    switch step {
    case .send(let sendings): send(sendings)
    case .flood(let count):
      let press = Sending(from: "order/p4", content: .order(juice: "tea", quantity: 1))
      for _ in 0..<count / 100 { try perform(.send(Array(repeating: press, count: 100))) }
    case .measure(let value, let isRetained):
      measure(
        Message(topic: SensorModel.topic, payload: Array(value.utf8), retain: isRetained))
    case .pass(let milliseconds): pass(.milliseconds(milliseconds))
    case .jump(let seconds):
      clock.set(ahead: seconds)
      auditor.clockJumped(at: broker.now, by: seconds, isRunning: kiosk != nil)
    case .cutKiosk: broker.cut(kioskID)
    case .cutDisplay: broker.cut("display")
    case .breakConnection(let moment, let step, let skipping):
      broker.inject(MemoryBroker.Fault(moment, step, of: kioskID, skipping: skipping))
    case .crash(let count):
      if count == 0 { crash() } else { crashIn = count }
    case .start: try start()
    case .reload(let variant): try reload(variant)
    case .stop: stop()
    case .loseSession: broker.dropSession(of: kioskID)
    case .saveBroker: broker.save()
    case .stopBroker: stopBroker()
    case .startBroker(let memory): startBroker(memory)
    case .failDisk: try failDisk(true)
    case .repairDisk: try failDisk(false)
    case .machine(let number, let event):
      if machines.indices.contains(number) { perform(event, on: machines[number]) }
    case .terminal(let number, let event):
      if terminals.indices.contains(number) { perform(event, on: terminals[number]) }
    case .clearRetained(let from):
      send([Sending(from: from, content: .junk(""), isRetained: true)])
    }
    waitUntilIdle()
  }

  /// Repairs everything that is broken, then runs until nothing is in flight. A kiosk that does not
  /// recover under these conditions never will.
  package func recover() throws {
    crashIn = nil
    try failDisk(false)
    if !isBrokerRunning { startBroker(.everything) }
    for machine in machines { repair(machine) }
    for terminal in terminals { repair(terminal) }
    // The devices connect, and the kiosk answers them, before a person decides.
    waitUntilIdle()
    try finishJobs()
    guard isIdle, let kiosk else {
      return auditor.fail(.recovery, "the kiosk does not come back")
    }
    // A late answer of a machine may precede the person's decision.
    for _ in 0..<3
    where !(auditor.openJobs.isEmpty && auditor.undecidedCharges.isEmpty) && violation == nil {
      try decidePendingJobs()
      try decidePendingCharges()
      try finishJobs()
    }
    if let charge = auditor.payments.open.values.first(where: { $0.state != .captured }) {
      auditor.fail(.recovery, "charge \(charge.number) is \(charge.state), and does not end")
    }
    auditor.checkMoney(terminals)
    if let job = auditor.openJobs.first {
      auditor.fail(.recovery, "job \(job.seq) is \(job.state), and does not end")
    }
    auditor.checkState(kiosk.ledger)
    if auditor.seq > Fingerprint.kept {
      auditor.check(fingerprints: try disk.count("delivery"))
    }
  }

  private func finishJobs() throws {
    for _ in 0..<20
    where (!isIdle || auditor.hasUnfinishedJobs || auditor.hasUnfinishedCharges)
      && violation == nil
    {
      try perform(.start)
      try perform(.pass(30_000))
    }
  }

  private func waitUntilIdle() {
    executor.run()
    observe()
    if isIdle, let kiosk {
      auditor.checkIdle(kiosk.ledger, at: broker.now, wallClock: wallClock)
    } else {
      auditor.idleSince = nil
    }
    auditor.checkPours(of: machines)
  }

  private func pass(_ duration: Duration) {
    let end = broker.now + duration
    while let next = broker.nextDeadline, next <= end {
      broker.advance(by: max(next - broker.now, .zero))
      noteConnection()
      executor.run()
      observe()
    }
    broker.advance(by: end - broker.now)
  }

  private func observe() {
    if let kiosk {
      noteConnection()
      if hasWork { read(kiosk.ledger) }
      hasWork = false
    }
    if !broker.sessionExists(kioskID) { auditor.sessionIsGone() }
    auditor.show(display.listener.take(), isConnected: display.listener.isConnected)
    auditor.receive(sender.listener.take(), at: broker.now)
  }

  func read(_ ledger: KioskLedger) {
    auditor.read(ledger, at: broker.now, wallClock: clock.now(broker))
  }

  var wallClock: Int64 { clock.now(broker) }

  /// A connection on which the kiosk is not online yet serves no client: the kiosk counts it as a
  /// part of its absence.
  private func noteConnection() {
    guard broker.isConnected(kioskID) else { return }
    auditor.kioskIsConnected(at: broker.now, isServing: !isDiskFailing && auditor.isOnline)
  }

  /// Whether no message is in flight, and no failure prevents the kiosk from processing one.
  var isIdle: Bool {
    kiosk != nil && !isDiskFailing && !isReloading && broker.isConnected(kioskID)
      && auditor.isOnline
      && broker.queueDepth(of: kioskID) == 0
  }

  private func send(_ sendings: [Sending]) {
    guard sender.listener.isConnected else { return }
    let messages = sendings.map(decided).map {
      auditor.prepare(
        $0, topic: "kiosk/k1/\($0.from)", wallClock: clock.now(broker), at: broker.now,
        losses: broker.losses(of: kioskID))
    }
    Task(executorPreference: executor) { [listener = sender.listener] in
      await listener.send(messages) { publish in
        let before = self.broker.queueDepth(of: kioskID)
        publish()
        let isTaken = self.broker.queueDepth(of: kioskID) == before + messages.count
        self.auditor.sent(messages.count, areTaken: isTaken)
      }
    }
    executor.run()
  }

  private func measure(_ reading: Message) {
    guard sender.listener.isConnected else { return }
    Task(executorPreference: executor) { [listener = sender.listener] in
      await listener.send([reading]) { publish in publish() }
    }
    executor.run()
  }

  // MARK: Kiosk

  private func start() throws {
    guard kiosk == nil else { return }
    let client = broker.client(on: executor, batchLimit: rules.batchLimit)
    // The process uses it only while the executor runs, on this thread.
    nonisolated(unsafe) let ledger = try KioskLedger(path: disk.path)
    let clock = KioskClock { [clock, broker] in
      let now = clock.now(broker)
      return Moment(
        timestamp: Timestamp(milliseconds: now), day: Model.day(at: now), uptime: broker.now,
        evidence: ClockEvidence(boot: 1))
    }
    let controller: Controller
    do {
      controller = try Controller(
        settings: settings, broker: InterceptingClient(client, of: self), ledger: ledger,
        clock: clock,
        logger: logger())
    } catch {
      // The kiosk cannot record a new fruit and exits. A later step starts it again.
      if isDiskFailing { return }
      throw error
    }
    let task = Task(executorPreference: executor) {
      await controller.run(clientID: kioskID) { _ in self.kioskCycleEnded(client) }
    }
    auditor.model.variant = auditor.file
    let state = rules.hasSensors ? try ledger.state() : nil
    auditor.kioskStarts(with: state?.sensors.first?.value, state?.clock, at: broker.now)
    read(ledger)
    auditor.checkState(ledger)
    isReloading = false
    kiosk = Process(client: client, controller: controller, ledger: ledger, task: task)
  }

  private func logger() -> Logger {
    let reader = LogReader(world: self)
    return Logger(label: "simulation") { _ in reader }
  }

  func read(log line: String) {
    auditor.read(log: line, losses: broker.losses(of: kioskID))
  }

  private func stop() {
    crashIn = nil
    kiosk?.task.cancel()
    executor.run()
    if let kiosk { read(kiosk.ledger) }
    auditor.kioskEnds()
    kiosk = nil
  }

  private func crash() {
    crashIn = nil
    guard let kiosk else { return }
    // The current batch may be committed or not.
    auditor.batchIsLost()
    read(kiosk.ledger)
    do { try disk.crash() } catch { auditor.fail(.world, "\(error)") }
    auditor.kioskCrashes()
    broker.kill(kiosk.client)
    kiosk.task.cancel()
    self.kiosk = nil
  }

  private func failDisk(_ fails: Bool) throws {
    guard fails != isDiskFailing else { return }
    isDiskFailing = fails
    try disk.fail(fails)
  }

  // MARK: Calls of InterceptingClient

  func interceptCall(_ client: MemoryClient) {
    guard let count = crashIn, kiosk?.client === client else { return }
    crashIn = count - 1
    if count == 1 { crash() }
  }

  func kioskIsConnected() {
    auditor.kioskIsConnected(at: broker.now, isServing: !isDiskFailing)
  }

  func kioskHandledNewSession(_ client: MemoryClient) {
    if kiosk?.client === client { auditor.kioskHandledNewSession() }
  }

  func kioskIsOnline() { auditor.kioskIsOnline(at: broker.now) }

  func kioskAbandons(_ client: MemoryClient) {
    guard kiosk?.client === client, !isDiskFailing else { return }
    auditor.fail(.ledger, "it does not take what was decided, and the disk works")
  }

  func kioskHasWork() { hasWork = true }

  /// Fails if the kiosk asks for the next event more than 5,000 times without time passing, because
  /// such a loop would hang the simulation.
  func kioskWaits(_ client: MemoryClient) {
    cycles = cycles.at == broker.now ? (cycles.at, cycles.count + 1) : (broker.now, 0)
    guard cycles.count > 5_000, kiosk?.client === client else { return }
    auditor.fail(.recovery, "the kiosk is busy with nothing")
    crash()
  }

  func kioskPublishes(_ messages: [Message], _ client: MemoryClient) {
    guard rules.machines + rules.terminals > 0 || rules.hasDates || rules.hasSensors, let kiosk,
      kiosk.client === client
    else { return }
    hasWork = true
    // The cycle that applies new rules may also return waiting orders.
    noteVariant(kiosk)
    let orders = messages.filter { $0.topic.hasPrefix("kiosk/k1/make/") }
    let charges = messages.filter { $0.topic.hasPrefix("kiosk/k1/charge/") }
    guard !orders.isEmpty || !charges.isEmpty else { return }
    read(kiosk.ledger)
    for order in orders { auditor.check(order, at: broker.now, wallClock: wallClock) }
    for charge in charges { auditor.checkPayment(charge, at: broker.now) }
  }

  func kioskStartsClean() { auditor.kioskStartsClean(at: broker.now) }

  // MARK: Broker and clients

  private func stopBroker() {
    guard isBrokerRunning else { return }
    isBrokerRunning = false
    auditor.brokerStops()
    broker.stop()
  }

  /// Starts the broker and reconnects the client before the kiosk, so that it receives everything
  /// that the kiosk publishes.
  private func startBroker(_ memory: MemoryBroker.Persistence) {
    guard !isBrokerRunning else { return }
    isBrokerRunning = true
    broker.start(restoring: memory)
    if memory == .lastSave { auditor.brokerWentBack() }
    broker.kill(sender.listener.client)
    sender = Self.makeClient("people", subscribedTo: Auditor.answerFilters, broker, executor)
  }

  private static func makeClient(
    _ name: String, subscribedTo topics: [String], _ broker: MemoryBroker,
    _ executor: ManualExecutor
  ) -> SimulatedClient {
    let listener = Listener(broker.client(on: executor))
    let options = SessionOptions(
      clientID: name, subscriptions: topics.map { TopicFilter(unchecked: "kiosk/k1/\($0)") })
    return SimulatedClient(
      listener: listener,
      task: Task(executorPreference: executor) { await listener.run(options) })
  }
}
