import InMemoryBroker
import JuiceDomain
import KioskCore
import KioskProtocol
import Ledger
import MessageBroker

/// Compares everything that the kiosk receives and publishes with the contract.
///
/// Each message that clients send carries its number as correlation data. The kiosk returns it with
/// the answer, and the redelivery rules ignore it. So the auditor can assign each ledger entry to
/// its message, even if two presses have the same bytes.
struct Auditor {
  /// The topics that clients subscribe to, below `kiosk/k1`.
  static let answerFilters = [
    "order/+/result", "restock/+/result", "service/+/result", "job/+/result", "program/+/result",
    "events", "status",
  ]
  /// The topics that a display subscribes to.
  static let displayFilters = [
    "stock/+", "freshness/+", "stock", "juice/+", "service", "status", "machine/+", "payment/+",
    "sensor/+",
  ]

  private(set) var violation: Violation?
  var isOnline = false
  let rules: Schedule.Rules
  var model = Model()
  /// The configuration file's variant, which the kiosk may not have read yet.
  var file = ConfigurationVariant.usual
  var seq = 1
  var lastEvent = 0
  var sent: [Sent] = []
  /// The numbers of the messages that neither count nor are rejected yet.
  var pending: Set<Int> = []
  /// The times at which no message was in flight.
  var idleAt: [Duration] = []
  /// The time since which that is so after each step, or `nil` if it is not.
  var idleSince: Duration?
  /// The entry that counts for each sender and id.
  var counted: [Identity: Int] = [:]
  var entries: [Int: Entry] = [:]
  var unanswered: Set<Int> = []
  var display: [String: String] = [:]
  var isDisplayConnected = false
  var trace: [String] = []
  var machineModel = MachineModel()
  var payments = PaymentModel()
  var batches = BatchModel()
  var sensor = SensorModel()
  /// The state of the jobs and charges as last read, because most reads find no change.
  private var stored: Stored?

  private struct Stored {
    let changes: Int
    let work: (jobs: [Job], machines: [MachineID: MachineRecord])?
    let payments: (charges: [Charge], devices: [PaymentDeviceID: PaymentDeviceRecord])?
  }

  /// Whether the kiosk's next connection may find an empty queue.
  private var mayFindEmptyQueue = false
  var hasBrokerRestoredSave = false
  /// Whether the session is new and the kiosk has not been notified of it.
  private var isSessionNew = false
  /// Whether a kiosk crashed before it was notified of a new session. The next one may mistake a
  /// press without an id for one of the old session.
  private(set) var hasMissedNewSession = false
  var lastOnline: Duration?
  private var lastConnected: Duration = .zero
  private var lastServing: Duration = .zero
  var lastJump: Duration?
  /// The time of the last start of the kiosk.
  var startedAt = Duration.zero

  struct Identity: Hashable { let from, id: String }

  struct Sent {
    let sending: Sending
    let sentAt: Int64?
    /// The sender's expectation: the stock of a fruit, or the number of a job.
    let expected: Int?
    let at: Duration
    /// Number of the kiosk's connections that had broken before the message was sent.
    let losses: Int
    /// Whether the broker has queued the message for the kiosk's session.
    var isTaken = false
    /// Whether the message need not count, because its session or its maximum age has ended.
    var isExcused = false
    var mustNotCount = false
    var seq: Int?
  }

  struct Entry {
    let number: Int
    let seenAt: Duration
    let outcome: Model.Outcome
    let stock: [String: Int]
    let cents: Int?
    /// Whether the entry ends the job of an earlier order.
    var isEnd = false
    var answer: [UInt8]?
  }

  init(rules: Schedule.Rules) {
    self.rules = rules
    model.hasHours = rules.hasHours
  }

  mutating func fail(_ rule: Violation.Rule, _ detail: String) {
    if violation == nil { violation = Violation(rule: rule, detail: detail) }
  }

  mutating func takeTrace() -> [String] {
    defer { trace = [] }
    return trace
  }

  // MARK: Input

  /// Creates a message and records it as sent.
  ///
  /// - Parameters:
  ///   - wallClock: in milliseconds since 1970.
  ///   - now: on the monotonic clock.
  ///   - losses: number of the kiosk's connections that have broken.
  mutating func prepare(
    _ sending: Sending, topic: String, wallClock: Int64, at now: Duration, losses: Int
  ) -> Message {
    var expected: Int?
    if case .restock(let fruit, _, let expecting) = sending.content, let shown = model.stock[fruit]
    {
      switch expecting {
      case .nothing: break
      case .whatIsShown: expected = shown
      case .somethingElse: expected = shown + 1
      }
    }
    if case .decide(_, let pick, _) = sending.content { expected = job(pick) }
    if case .settle(_, let pick) = sending.content { expected = charge(pick) }
    if case .bring(_, _, let seconds) = sending.content {
      expected = Int(wallClock) + seconds * 1000
    }
    if case .remove(let fruit, nil) = sending.content {
      expected = max(1, batches.expiredAmount(of: fruit))
    }
    let sentAt = sending.sentAgo.map { wallClock - Int64($0) * 1000 }
    sent.append(
      Sent(sending: sending, sentAt: sentAt, expected: expected, at: now, losses: losses))
    return Message(
      topic: topic, payload: Array(sending.payload(sentAt: sentAt, expected: expected).utf8),
      retain: sending.isRetained, correlationData: Array(String(sent.count - 1).utf8))
  }

  /// Records that the last `count` messages have reached the broker, and whether it has queued them
  /// for the kiosk.
  mutating func sent(_ count: Int, areTaken: Bool) {
    guard areTaken else { return }
    for number in sent.indices.suffix(count) {
      sent[number].isTaken = true
      pending.insert(number)
    }
  }

  // MARK: Events of the kiosk

  mutating func clockJumped(at now: Duration, by seconds: Int, isRunning: Bool) {
    lastJump = now
    batches.clockJumped(by: seconds, isRunning: isRunning, startedAt: startedAt)
  }

  mutating func kioskStarts(
    with sensor: SensorRecord?, _ clock: ClockRecord?, at now: Duration
  ) {
    startedAt = now
    stored = nil
    self.sensor.kioskStarts(with: sensor, clock, at: now)
    batches.kioskStarts(at: now)
    beginPrograms(at: now)
  }

  /// Marks messages that queued for too long while the kiosk was away: they must not count.
  ///
  /// - Parameter isServing: whether the ledger works. A kiosk that abandons its deliveries is away,
  ///   too.
  mutating func kioskIsConnected(at now: Duration, isServing: Bool) {
    if mayFindEmptyQueue { excusePending() }
    mayFindEmptyQueue = false
    if now - lastServing >= Self.shortestAbsence { excusePending() }
    if isServing { lastServing = now }
    // One second more, because a connection on which the kiosk read nothing is not reported here,
    // and the next attempt may follow a second later.
    let limit = Duration.seconds(Model.maximumAge + 1)
    if now - lastConnected > limit {
      for number in pending where now - sent[number].at > limit {
        sent[number].mustNotCount = true
      }
    }
    lastConnected = now
  }

  /// Excuses messages that have reached the maximum age of an order.
  mutating func kioskIsOnline(at now: Duration) {
    isSessionNew = false
    sensor.onlineAt = sensor.onlineAt ?? now
    for number in pending where now - sent[number].at >= .seconds(Model.maximumAge) {
      sent[number].isExcused = true
    }
  }

  /// Records that the kiosk was notified of a new session and has processed the notification.
  mutating func kioskHandledNewSession() { isSessionNew = false }

  mutating func kioskStartsClean(at now: Duration) {
    if mayStartClean(at: now) { mayFindEmptyQueue = true }
    isSessionNew = true
  }

  mutating func brokerStops() { isOnline = false }

  mutating func sessionIsGone() {
    excusePending()
    isSessionNew = true
  }

  /// Discards a connection on which the kiosk was never online. The next process has no record of
  /// it, and measures its absence from the last heartbeat.
  mutating func kioskEnds() { lastServing = min(lastServing, lastOnline ?? .zero) }

  /// Records a crash. Packet identifiers start again with a session, and ejabberd sets DUP on
  /// queued messages as on redeliveries. So a kiosk that was not notified of the new session cannot
  /// distinguish them.
  mutating func kioskCrashes() {
    kioskEnds()
    if isSessionNew, rules.behavior == .ejabberd { hasMissedNewSession = true }
  }

  /// Records that the broker has restored its last save. It may deliver messages again without DUP,
  /// and with reused packet identifiers, so only an id prevents a second execution. Sessions may be
  /// about to expire.
  mutating func brokerWentBack() {
    excusePending()
    mayFindEmptyQueue = true
    hasBrokerRestoredSave = true
  }

  /// A kiosk may start a clean session only after an absence longer than the maximum age, or if the
  /// clock was set meanwhile. Its last heartbeat may be older than its end by a sixth of the
  /// maximum age, and by the time in which `LedgerLock` records no second heartbeat.
  private static let heartbeatInterval =
    Duration.seconds(Model.maximumAge) / 6 + .milliseconds(100)
  private static let shortestAbsence = Duration.seconds(Model.maximumAge) - heartbeatInterval

  private func mayStartClean(at now: Duration) -> Bool {
    guard let lastOnline else { return true }
    if let lastJump, lastJump >= lastOnline - Self.heartbeatInterval { return true }
    return now - lastOnline > Self.shortestAbsence
  }

  private mutating func excusePending() {
    for number in pending { sent[number].isExcused = true }
  }

  // MARK: Ledger

  mutating func read(_ ledger: KioskLedger, at now: Duration, wallClock: Int64) {
    do {
      noteSilence(at: now)
      let changes = try ledger.changes
      if stored?.changes != changes {
        stored = Stored(
          changes: changes, work: rules.machines > 0 ? try ledger.machineState() : nil,
          payments: rules.terminals > 0 ? try ledger.paymentState() : nil)
        for (row, _, reply) in try ledger.rows(after: seq, limit: .max) {
          check(row.entry, reply, at: now)
        }
      }
      if let (jobs, machines) = stored?.work {
        compare(jobs, machines, at: now, wallClock: wallClock)
      }
      if let (charges, devices) = stored?.payments {
        comparePayments(charges, devices, at: now)
      }
      try compareSensor(ledger)
    } catch {
      fail(.ledger, "\(error)")
    }
  }

  /// Compares the ledger's state at a start with the model.
  mutating func checkState(_ ledger: KioskLedger) {
    do {
      let state = try ledger.state()
      let stock = Dictionary(uniqueKeysWithValues: state.stock.map { ($0.fruit.text, $0.amount) })
      if stock != model.stock {
        fail(.ledger, "the stock is \(stock), its entries make \(model.stock)")
      }
      if (state.service == .open) != model.isOpen { fail(.ledger, "service is \(state.service)") }
      try checkBatches(ledger)
      sensor.hasChanged = true
      try compareSensor(ledger)
    } catch {
      fail(.ledger, "\(error)")
    }
  }

  private mutating func check(_ entry: LedgerEntry, _ reply: Reply?, at now: Duration) {
    guard entry.seq == seq + 1 else {
      return fail(.ledger, "after entry \(seq) comes \(entry.seq)")
    }
    seq = entry.seq
    if case .opened(let fruits) = Model.Outcome(entry.outcome) {
      trace.append("entry \(seq): \(Model.Outcome(entry.outcome))")
      if !model.open(fruits, by: file) { fail(.decision, "entry \(seq) opens \(fruits)") }
      return
    }
    checkReplacement(entry)
    guard reply != nil || entry.source != nil else {
      trace.append("entry \(seq): \(Model.Outcome(entry.outcome))")
      checkBatches(entry, of: nil, at: now)
      if case .expired = entry.outcome { return model.apply(Model.Outcome(entry.outcome)) }
      if case .program(let step) = entry.outcome { return checkProgram(step, entry, at: now) }
      if case .sensor = entry.outcome { return checkSensor(entry, at: now) }
      return checkPayment(entry)
    }
    guard let number = reply.flatMap({ Self.number($0.correlationData) }),
      sent.indices.contains(number)
    else { return fail(.ledger, "entry \(seq) has no message") }
    let message = sent[number]
    let outcome = Model.Outcome(entry.outcome)
    trace.append("entry \(seq) for message \(number): \(outcome)")
    guard entry.source?.description == message.sending.from, entry.id?.text == message.sending.id
    else { return fail(.ledger, "entry \(seq) is not what message \(number) asked for") }
    var work = work(for: message, at: now, wallClock: entry.at.milliseconds)
    checkBatches(entry, of: message, at: now)
    var cents = cents(of: outcome, for: message.sending.content)
    if case .payment = outcome { cents = entry.amount?.units }
    if entry.amount?.units != cents || entry.amount.map(\.currency.code) ?? "EUR" != "EUR" {
      fail(.ledger, "entry \(seq) is for \(entry.amount as Any), and not for \(cents as Any) cents")
    }
    if case .payment(_, _, _, _?) = outcome {
      checkBegin(entry, of: number, at: now)
      entries[seq] = Entry(
        number: number, seenAt: now, outcome: outcome, stock: model.shown, cents: cents, isEnd: true
      )
      unanswered.insert(seq)
      return
    }
    if entry.outcome.end != nil {
      checkEnd(entry, outcome, of: number, at: now)
      notePaymentEnd(entry, outcome)
      model.apply(outcome)
      entries[seq] = Entry(
        number: number, seenAt: now, outcome: outcome, stock: model.shown, cents: cents, isEnd: true
      )
      unanswered.insert(seq)
      return
    }
    // The kiosk rejects a retained command at each delivery, and never executes it.
    let wasRetained = message.sending.isRetained
    if wasRetained { pending.remove(number) } else { count(number, as: outcome) }
    addPayment(to: &work, for: message, outcome, at: entry.at.milliseconds)
    addSensor(to: &work, for: message)
    let expected = model.outcomes(
      of: message.sending, sentAt: message.sentAt, expected: message.expected,
      wasRetained: wasRetained, with: work, at: entry.at.milliseconds)
    if !expected.contains(outcome) {
      fail(.decision, "message \(number) became \(outcome), it should have been \(expected)")
    }
    model.apply(outcome)
    follow(entry, outcome, at: now)
    followPayment(entry, at: now)
    checkSensor(entry, at: now)
    entries[seq] = Entry(
      number: number, seenAt: now, outcome: outcome, stock: model.shown, cents: cents)
    unanswered.insert(seq)
  }

  /// Returns the expected price of an entry. A job's end has the price of its order if the juice
  /// was made, and none otherwise.
  private func cents(of outcome: Model.Outcome, for content: Sending.Content) -> Int? {
    switch (outcome, content) {
    case (.ready, .order(let juice, let quantity)), (.accepted, .order(let juice, let quantity)),
      (.awaitingPayment, .order(let juice, let quantity)):
      model.variant.prices[juice].map { $0 * quantity }
    case (.made(let job), _): entries[job]?.cents
    default: nil
    }
  }

  private mutating func count(_ number: Int, as outcome: Model.Outcome) {
    let message = sent[number]
    if let first = message.seq, message.sending.id != nil || !hasBrokerRestoredSave {
      return fail(.twice, "message \(number) is entry \(first) and entry \(seq)")
    }
    if let id = message.sending.id {
      let identity = Identity(from: message.sending.from, id: id)
      if let first = counted[identity] {
        fail(.twice, "\(identity.from) #\(id) is entry \(first) and entry \(seq)")
      }
      counted[identity] = seq
    }
    if !message.isTaken { fail(.forbidden, "message \(number) never reached the kiosk's session") }
    if message.mustNotCount {
      fail(.forbidden, "message \(number) had waited too long while the kiosk was away")
    }
    sent[number].seq = seq
    pending.remove(number)
  }
}
