import InMemoryBroker
import JuiceDomain
import KioskCore
import KioskProtocol
import Ledger
import MessageBroker

/// Sees all that goes in and comes out, and holds it against the contract.
///
/// Each message that people send carries its number as correlation data, which the kiosk gives back
/// with the answer and the redelivery rules do not look at: so it is known of each ledger entry which
/// message it stems from, also where two presses have the same bytes.
struct Auditor {
  /// The topics of answers, below `kiosk/k1`.
  static let answerFilters = [
    "order/+/result", "restock/+/result", "service/+/result", "job/+/result", "events", "status",
  ]
  /// What a display reads.
  static let displayFilters = ["stock/+", "stock", "juice/+", "service", "status", "machine/+"]

  private(set) var violation: Violation?
  var isOnline = false
  let rules: Schedule.Rules
  var model = Model()
  /// What the configuration says; the kiosk may not have read it yet.
  var file = ConfigurationVariant.usual
  var seq = 1
  var lastEvent = 0
  var sent: [Sent] = []
  /// The numbers of those that are not settled yet.
  var pending: Set<Int> = []
  /// When nothing was on its way.
  var idleAt: [Duration] = []
  /// Under each sender and id, the entry that counts.
  var counted: [Identity: Int] = [:]
  var entries: [Int: Entry] = [:]
  var unanswered: Set<Int> = []
  var display: [String: String] = [:]
  var isDisplayConnected = false
  var trace: [String] = []
  var machineModel = MachineModel()

  /// The kiosk's next connection need not find what has queued until then.
  private var mayForget = false
  var hasBrokerGoneBack = false
  /// The kiosk has not been told yet that its session is a new one.
  private var isSessionNew = false
  /// Nor will it be: a press without an id may be taken for one of the session before.
  private(set) var hasMissedNewSession = false
  var lastOnline: Duration?
  private var lastConnected: Duration = .zero
  private var lastServing: Duration = .zero
  var lastJump: Duration?

  struct Identity: Hashable { let from, id: String }

  struct Sent {
    let sending: Sending
    let sentAt: Int64?
    /// By what the sender goes: the stock of a fruit, or the number of a job.
    let expected: Int?
    let at: Duration
    /// How many connections of the kiosk had broken by then.
    let losses: Int
    /// The broker has taken it in for the kiosk's session.
    var isTaken = false
    /// The session, or the time in which it may count, is over.
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
    /// It ends the job of an order, which came before.
    var isEnd = false
    var answer: [UInt8]?
  }

  init(rules: Schedule.Rules) { self.rules = rules }

  mutating func fail(_ rule: Violation.Rule, _ detail: String) {
    if violation == nil { violation = Violation(rule: rule, detail: detail) }
  }

  mutating func takeTrace() -> [String] {
    defer { trace = [] }
    return trace
  }

  // MARK: What goes in

  /// - Parameters:
  ///   - wallClock: in milliseconds since 1970.
  ///   - now: on the clock that nobody sets.
  ///   - losses: how many connections of the kiosk have broken.
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
    let sentAt = sending.sentAgo.map { wallClock - Int64($0) * 1000 }
    sent.append(
      Sent(sending: sending, sentAt: sentAt, expected: expected, at: now, losses: losses))
    return Message(
      topic: topic, payload: Array(sending.payload(sentAt: sentAt, expected: expected).utf8),
      retain: sending.isRetained, correlationData: Array(String(sent.count - 1).utf8))
  }

  /// The last `count` messages have reached the broker; whether it has them for the kiosk, too.
  mutating func sent(_ count: Int, areTaken: Bool) {
    guard areTaken else { return }
    for number in sent.indices.suffix(count) {
      sent[number].isTaken = true
      pending.insert(number)
    }
  }

  // MARK: What becomes of the kiosk

  mutating func clockJumped(at now: Duration) { lastJump = now }

  /// What was there before and has waited while the kiosk was away for too long must not pour.
  ///
  /// - Parameter isServing: its ledger works. A kiosk that gives back what it receives is away, too.
  mutating func kioskIsConnected(at now: Duration, isServing: Bool) {
    if mayForget { excusePending() }
    mayForget = false
    if now - lastServing >= Self.shortestAbsence { excusePending() }
    if isServing { lastServing = now }
    // A connection on which nothing was read is not seen here, and the next attempt may come a
    // second late for that.
    let limit = Duration.seconds(Model.maximumAge + 1)
    if now - lastConnected > limit {
      for number in pending where now - sent[number].at > limit {
        sent[number].mustNotCount = true
      }
    }
    lastConnected = now
  }

  /// What has waited for longer than an order may be old need not be made any more.
  mutating func kioskIsOnline(at now: Duration) {
    isSessionNew = false
    for number in pending where now - sent[number].at >= .seconds(Model.maximumAge) {
      sent[number].isExcused = true
    }
  }

  /// It was told that its session is a new one, and has done what that asks of it.
  mutating func kioskHandledNewSession() { isSessionNew = false }

  mutating func kioskStartsClean(at now: Duration) {
    if mayStartClean(at: now) { mayForget = true }
    isSessionNew = true
  }

  mutating func brokerStops() { isOnline = false }

  mutating func sessionIsGone() {
    excusePending()
    isSessionNew = true
  }

  /// What a process has not told before its end, nobody knows afterwards: a connection on which it was
  /// not online yet is none to the next one, which counts its absence from the last sign of life.
  mutating func kioskEnds() { lastServing = min(lastServing, lastOnline ?? .zero) }

  /// Packet ids begin anew with a session. Where the broker marks what has queued as it marks what
  /// comes again (ejabberd), nobody can tell the one from the other who does not know of that.
  mutating func kioskCrashes() {
    kioskEnds()
    if isSessionNew, rules.behavior == .ejabberd { hasMissedNewSession = true }
  }

  /// What the broker had when it saved may come again as if for the first time, and under numbers that
  /// meant something else meanwhile: only an id helps against that. Sessions may be about to expire.
  mutating func brokerWentBack() {
    excusePending()
    mayForget = true
    hasBrokerGoneBack = true
  }

  /// Only a kiosk that was away for longer than an order may be old, by a clock that was not set
  /// meanwhile. Its last sign of life may be a sixth of that time older than its death.
  private static let heartbeatInterval = Duration.seconds(Model.maximumAge) / 6
  private static let shortestAbsence = Duration.seconds(Model.maximumAge) - heartbeatInterval

  private func mayStartClean(at now: Duration) -> Bool {
    guard let lastOnline else { return true }
    if let lastJump, lastJump >= lastOnline - Self.heartbeatInterval { return true }
    return now - lastOnline > Self.shortestAbsence
  }

  private mutating func excusePending() {
    for number in pending { sent[number].isExcused = true }
  }

  // MARK: What the ledger holds

  mutating func read(_ ledger: KioskLedger, at now: Duration, wallClock: Int64) {
    do {
      noteSilence(at: now)
      for (row, reply) in try ledger.rows(after: seq, limit: .max) {
        check(row.entry, reply, at: now)
      }
      if rules.machines > 0 {
        let (jobs, machines) = try ledger.machineState()
        compare(jobs, machines, at: now, wallClock: wallClock)
      }
    } catch {
      fail(.ledger, "\(error)")
    }
  }

  /// What a start begins with.
  mutating func checkState(_ ledger: KioskLedger) {
    do {
      let state = try ledger.state()
      let stock = Dictionary(uniqueKeysWithValues: state.stock.map { ($0.fruit.text, $0.amount) })
      if stock != model.stock {
        fail(.ledger, "the stock is \(stock), its entries make \(model.stock)")
      }
      if (state.service == .open) != model.isOpen { fail(.ledger, "service is \(state.service)") }
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
    guard let number = reply.flatMap({ Self.number($0.correlationData) }),
      sent.indices.contains(number)
    else { return fail(.ledger, "entry \(seq) has no message") }
    let message = sent[number]
    let outcome = Model.Outcome(entry.outcome)
    trace.append("entry \(seq) for message \(number): \(outcome)")
    guard entry.source?.description == message.sending.from, entry.id?.text == message.sending.id
    else { return fail(.ledger, "entry \(seq) is not what message \(number) asked for") }
    let cents = cents(of: outcome, for: message.sending.content)
    if entry.amount?.units != cents || entry.amount.map(\.currency.code) ?? "EUR" != "EUR" {
      fail(.ledger, "entry \(seq) is for \(entry.amount as Any), and not for \(cents as Any) cents")
    }
    if entry.outcome.end != nil {
      checkEnd(entry, outcome, of: number, at: now)
      model.apply(outcome)
      entries[seq] = Entry(
        number: number, seenAt: now, outcome: outcome, stock: model.shown, cents: cents, isEnd: true
      )
      unanswered.insert(seq)
      return
    }
    // It is told each time that it comes, and never carried out.
    let wasRetained = message.sending.isRetained
    if wasRetained { pending.remove(number) } else { count(number, as: outcome) }
    let expected = model.outcomes(
      of: message.sending, sentAt: message.sentAt, expected: message.expected,
      wasRetained: wasRetained, with: work(for: message), at: entry.at.milliseconds)
    if !expected.contains(outcome) {
      fail(.decision, "message \(number) became \(outcome), it should have been \(expected)")
    }
    model.apply(outcome)
    follow(entry, outcome, at: now)
    entries[seq] = Entry(
      number: number, seenAt: now, outcome: outcome, stock: model.shown, cents: cents)
    unanswered.insert(seq)
  }

  /// What is made later costs what it did when it was ordered, and what is not made costs nothing.
  private func cents(of outcome: Model.Outcome, for content: Sending.Content) -> Int? {
    switch (outcome, content) {
    case (.ready, .order(let juice, let quantity)), (.accepted, .order(let juice, let quantity)):
      model.variant.prices[juice].map { $0 * quantity }
    case (.made(let job), _): entries[job]?.cents
    default: nil
    }
  }

  private mutating func count(_ number: Int, as outcome: Model.Outcome) {
    let message = sent[number]
    if let first = message.seq, message.sending.id != nil || !hasBrokerGoneBack {
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
