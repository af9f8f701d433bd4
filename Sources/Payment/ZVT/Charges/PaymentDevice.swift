import JuiceDomain
package import KioskProtocol

/// A payment device with a ZVT terminal, by the rules of payment-contract.md. A value without
/// I/O: the caller reports events, and executes the returned actions in their order.
///
/// ```swift
/// var device = PaymentDevice(settings, journal)
/// perform(device.connected(at: now))             // to the terminal
/// perform(device.receive(command, at: now))      // from the kiosk
/// perform(device.received(bytes, at: now))       // from the terminal
/// perform(device.tick(at: now))                  // at device.deadline
/// ```
///
/// | file | content |
/// |---|---|
/// | `PaymentDevice` | commands of the kiosk, and the choice of the next terminal command |
/// | `PaymentDevice+terminal` | events of the terminal |
/// | `PaymentDevice+review` | the state of charges whose last result was lost |
///
/// If a `store` fails, the caller must discard this value and the remaining actions, drop the
/// connection, and create a device from the journal on the disk, as after a power cut.
package struct PaymentDevice: Sendable {
  package enum Action: Hashable, Sendable {
    /// Appends the entry to the journal, durably, before any later action.
    case store(ChargeJournal.Entry)
    /// Sends bytes to the terminal.
    case send([UInt8])
    case publish(PaymentAnswer)
    case status(MachineStatus)
    case total(PaymentTotal)
    /// Publishes that the states of all open charges were published.
    case inventory(epoch: Int)
    /// Drops the connection to the terminal, for this reason, and connects again.
    case disconnect(String)
    case log(String)
  }

  /// The purpose of the command that the terminal executes.
  enum Step: Hashable {
    case register, enquire, openReservations, lastResult, endOfDay
    // The value is the number of the charge.
    case display(Int)
    case begin(Int)
    case capture(Int)
    case release(Int)
    case refund(Int)
    /// Releases a reservation that belongs to no charge; the value is its receipt.
    case releaseForeign(Int)
  }

  /// A prompt for a card.
  struct Prompt {
    let charge: Int
    let lines: [String]
    /// Maximum time without an action of the customer.
    let pay: Duration
    var isShown = false
    /// Whether the device has sent the command of the prompt.
    var hasBegun = false
    /// The time of the customer's last action, or of the beginning.
    var last: Duration
    /// The time at which the prompt ends even if the customer is active.
    let limit: Duration
    var isEnded = false
    /// The time of the next abort unless the terminal has ended the prompt.
    var nextAbort: Duration?
    var hasTimedOut = false
    var isPresented = false
    var nextSign = Duration.zero
    /// The time that the goods need after the payment, in seconds.
    let readySeconds: Int
  }

  let settings: DeviceSettings
  package internal(set) var journal: ChargeJournal
  var session: TerminalSession
  var step: Step?
  var prompt: Prompt?

  // The state of the connection.
  var isConnected = false
  var isRegistered = false
  /// Whether the next registration contains no TLV container.
  var withoutContainer = false
  var version: String?
  /// The last id that a terminal has reported, also on an earlier connection.
  var terminal: String?
  /// The last state byte of the terminal, or `nil` before the first enquiry of the connection.
  var state: UInt8?
  var hasAborted = false
  /// The time of the last approval that waits for the goods, or `nil` if none does.
  var approvedAt: Duration?
  /// The shortest time after which the terminal has waited no longer, or `nil` if it always waited.
  var shortestPatience: Duration?
  /// The currency of the terminal if it is not that of the device, as an ISO 4217 number.
  var otherCurrency: Int?
  /// The time since which the terminal has been busy or has not ended a command in time, or `nil` if
  /// it is not.
  var busySince: Duration?
  /// Whether that was longer than `busyLimit` ago.
  var isBusy = false
  /// The earliest time of the next command: later if the terminal is busy or refuses the
  /// registration.
  var pause = Duration.zero
  var nextEnquiry = Duration.zero
  /// Whether the terminal supports the command that repeats its last result.
  var knowsRepeat = true
  /// The last receipt number of a completed command on this connection, or `nil` if none was reported.
  var lastReceipt: Int?
  /// The command that captures a reservation, in whole or in part. It differs from the setting if the
  /// terminal does not support the command of the setting.
  var capture: DeviceSettings.Capture
  var showsText: Bool

  // The review of charges whose state is unclear.
  var needsReview = true
  /// Numbers of the charges whose state only a review can determine.
  var unclear: Set<Int> = []
  var evidence = Evidence()
  /// Receipt numbers of open reservations of no charge in the last review, or `nil` before the first one.
  var foreign: Set<Int>?
  /// The earliest time of the next attempt to release a reservation of no charge after a failed one, by receipt number.
  var nextForeignRelease: [Int: Duration] = [:]

  var endOfDayIsDue = false
  /// The earliest time of the next end of day after a failed one.
  var nextEndOfDay = Duration.zero
  /// Whether the result of an end of day may have been lost, with a connection or at a restart.
  var hasLostEndOfDay = false
  var lastStatus: MachineStatus?
  private var changedCharges = LineLimit()
  /// The time of the system clock, which the caller sets before each event.
  package var wallClock = Timestamp(milliseconds: 0)

  /// The time after which a terminal that executes no command is a fault.
  static let busyLimit = Duration.seconds(60)

  package init(_ settings: DeviceSettings, _ journal: ChargeJournal) {
    self.settings = settings
    self.journal = journal
    session = TerminalSession(settings.session)
    capture = settings.capture
    showsText = settings.showsText
    for record in journal.open where Self.mayBeUnclear(record) { unclear.insert(record.charge) }
    endOfDayIsDue = journal.closing != nil
    hasLostEndOfDay = endOfDayIsDue
  }

  /// Returns whether the end of the connection can make the state of a charge unclear. Terminals
  /// differ in how they then end a payment that waits for the goods.
  static func mayBeUnclear(_ record: ChargeRecord) -> Bool {
    record.state.isInProgress
      || (record.state == .held && record.method == .goodsFirst && !record.isBookedEarly)
  }

  /// The time at which the caller must call `tick(at:)`, or `nil` if no timer runs.
  package var deadline: Duration? {
    guard isConnected else { return nil }
    var times = [session.deadline].compactMap(\.self)
    if let prompt, prompt.hasBegun {
      times.append(prompt.isEnded ? prompt.nextAbort ?? .seconds(1 << 40) : promptEnd(prompt))
    }
    if session.isIdle {
      times.append(state == nil || needsReview || hasWork ? pause : max(pause, nextEnquiry))
      if endOfDayIsDue, isDayOver { times.append(max(pause, nextEndOfDay)) }
    }
    if !isBusy, let busySince { times.append(busySince + Self.busyLimit) }
    return times.min()
  }

  /// The state for `payment/<device>/status`.
  package var status: MachineStatus {
    guard isConnected else { return .fault("terminal away") }
    guard isRegistered, let state else { return .fault("terminal is not ready") }
    switch state {
    case 0x00, 0x9C, 0xF0: break
    default: return .fault(ResultCode(state).text)
    }
    if let otherCurrency { return .fault("wrong currency \(otherCurrency)") }
    if isBusy { return .fault("busy") }
    guard !needsReview || foreign != nil else { return .fault("terminal is asked") }
    if settings.foreignHolds != .ignore, let receipt = foreign?.min() {
      return .fault("unknown hold, receipt \(receipt)")
    }
    return .online
  }

  // MARK: Messages of the kiosk

  /// Processes a command of the kiosk.
  package mutating func receive(_ command: ChargeCommand, at now: Duration) -> [Action] {
    var actions: [Action] = []
    guard let charge = command.charge else {
      if case .open(let epoch) = command { publishOpen(epoch, &actions) }
      return actions
    }
    if let record = journal.records[charge] {
      receive(command, record, at: now, &actions)
    } else if charge > journal.last {
      receiveNew(command, at: now, &actions)
    } else {
      actions.append(.publish(PaymentAnswer(charge: charge, status: .unknown)))
    }
    proceed(at: now, &actions)
    return actions
  }

  private mutating func receiveNew(
    _ command: ChargeCommand, at now: Duration, _ actions: inout [Action]
  ) {
    switch command {
    case .charge(let request):
      guard request.amount.currency == settings.currency else {
        return decline(request, "wrong currency", &actions)
      }
      // A device that cannot begin does not answer, and the kiosk sends the charge again.
      guard canBegin else { return }
      let method = settings.method(of: request, patience: patience)
      guard method == .reservation || isFast(request.readySeconds) else {
        return decline(request, Self.isSlow, &actions)
      }
      var record = ChargeRecord(request, method)
      record.terminal = terminal
      store(record, &actions)
      let pay = Duration.seconds(request.paySeconds)
      prompt = Prompt(
        charge: request.charge,
        lines: [
          request.text.isEmpty || !settings.session.text.contains(request.text)
            ? request.juice?.text ?? "" : request.text,
          "\(request.amount)",
        ],
        pay: pay, last: now, limit: now + max(pay, .seconds(300)),
        readySeconds: request.readySeconds)
    case .release(let charge), .capture(let charge, _), .refund(let charge):
      // A lost journal may have contained a hold for this number. In that case the terminal has a
      // hold that belongs to no charge.
      let isRelease = if case .release = command { foreign?.isEmpty ?? false } else { false }
      change(
        ChargeRecord(never: charge, settings.currency, isRelease ? .released : .unknown), &actions)
    case .state(let charge):
      actions.append(.publish(PaymentAnswer(charge: charge, status: .unknown)))
    case .open: break
    }
  }

  /// Publishes the states of open charges, and that these are all. While the state of a charge is unclear,
  /// does not answer: the kiosk repeats the request.
  private func publishOpen(_ epoch: Int, _ actions: inout [Action]) {
    // guard: a payment device does not say that it holds nothing before it has asked the terminal
    guard unclear.isEmpty, !needsReview else { return }
    actions += journal.open.map { .publish($0.answer) } + [.inventory(epoch: epoch)]
  }

  private mutating func decline(
    _ request: ChargeRequest, _ reason: String, _ actions: inout [Action]
  ) {
    var record = ChargeRecord(request, .goodsFirst)
    (record.state, record.reason) = (.declined, reason)
    change(record, &actions)
  }

  /// The reason for a charge whose amount the terminal would release before the juice is made.
  static let isSlow = "the machine is slower than the terminal waits"

  /// The time for which the terminal waits for the goods: as measured if that was shorter than the
  /// settings say.
  private var patience: Duration { min(settings.patience, shortestPatience ?? settings.patience) }

  /// Returns whether the terminal waits long enough for goods that need this time.
  func isFast(_ readySeconds: Int) -> Bool {
    // guard: the machine does not start what the terminal would give back before it is made
    readySeconds == 0 || .seconds(readySeconds) < patience
  }

  private var canBegin: Bool {
    isConnected && isRegistered && session.isIdle && step == nil && prompt == nil && !needsReview
      && unclear.isEmpty && status == .online && !hasWork && state != 0x9C
  }

  private mutating func receive(
    _ command: ChargeCommand, _ record: ChargeRecord, at now: Duration, _ actions: inout [Action]
  ) {
    var record = record
    switch (command, record.state) {
    case (.charge(let request), _)
    where record.price.units > 0
      && (request.amount != record.price || request.ticket != record.ticket):
      if let more = changedCharges.admit(at: now) {
        let text = "charge \(record.charge) was asked for before, with other contents\(more)"
        actions.append(.log(text))
      }
      actions.append(.publish(PaymentAnswer(charge: record.charge, status: .unknown)))
    case (.capture(_, let amount), .held) where !unclear.contains(record.charge):
      guard amount <= record.held ?? 0 else {
        record.reason = "amount is above the hold"
        return actions.append(.publish(record.answer))
      }
      beginCapture(record, amount, &actions)
    case (.release, .held) where !unclear.contains(record.charge),
      (.release, .begun) where !unclear.contains(record.charge):
      record.state = .releasing
      record.reason = nil
      store(record, &actions)
      if record.held == nil {
        endPrompt(at: now, &actions)
      } else if record.method == .goodsFirst, !record.isBookedEarly {
        session.goods = .notMade
      }
    case (.refund, .captured):
      guard isHere(record) else {
        record.reason = "another terminal is connected"
        return actions.append(.publish(record.answer))
      }
      guard let receipt = record.receipt else {
        record.reason = "no receipt number"
        return actions.append(.publish(record.answer))
      }
      guard record.closings == journal.day.closings else {
        record.reason = Self.isClosed
        return actions.append(.publish(record.answer))
      }
      guard settings.reversal == .any || isLastReceipt(receipt) else {
        record.reason = Self.isNotLast
        return actions.append(.publish(record.answer))
      }
      record.state = .refunding
      record.reason = nil
      store(record, &actions)
    case (_, .unknown) where record.receipt != nil && record.method == .reservation:
      guard isConnected else { return actions.append(.publish(record.answer)) }
      // The terminal may still have the hold.
      unclear.insert(record.charge)
      needsReview = true
      evidence = Evidence()
    // The answer `captured` would mean that the device cannot refund.
    case (.refund, .refunding): break
    default:
      // For an unclear charge, the end of the review publishes the answer.
      guard !unclear.contains(record.charge) else { return }
      if !isConnected, Self.needsCommand(record) { record.reason = "terminal away" }
      actions.append(.publish(record.answer))
    }
  }

  private mutating func beginCapture(
    _ record: ChargeRecord, _ amount: Int, _ actions: inout [Action]
  ) {
    var record = record
    record.reason = nil
    (record.state, record.asked) = (.capturing, amount)
    let isWhole = amount == record.held
    if record.method == .goodsFirst {
      guard isWhole || (settings.booksInPart && !record.isBookedEarly) else {
        // The terminal cannot capture a part: capturing nothing is better than capturing too much.
        record.state = .releasing
        record.reason = "the terminal cannot book a part"
        store(record, &actions)
        if !record.isBookedEarly { session.goods = .notMade }
        return
      }
      if record.isBookedEarly { return finish(record, .captured, &actions) }
      session.goods = isWhole ? .made : .madeInPart(amount: amount)
    }
    store(record, &actions)
  }

  /// The reason for a payment that no reversal can return: its receipt number may be that of another
  /// payment now.
  private static let isClosed = "before an end of day of the terminal"

  /// The reason for a payment after which the terminal has had another result.
  private static let isNotLast = "the terminal cancels only its last payment"

  private func isLastReceipt(_ receipt: Int) -> Bool {
    lastReceipt == receipt
  }

  /// Publishes the status, the last total and the states of open charges except unclear ones, after a connect.
  package mutating func brokerConnected() -> [Action] {
    lastStatus = status
    return [.status(status)] + (journal.total.map { [.total($0)] } ?? [])
      + journal.open.filter { !unclear.contains($0.charge) }.map { .publish($0.answer) }
  }

  /// Requests an end of day. It begins only when no charge is open except unknown ones, the terminal
  /// is connected and idle, and half an hour has passed since a failed one.
  package mutating func endDay(at now: Duration) -> [Action] {
    endOfDayIsDue = true
    var actions: [Action] = []
    proceed(at: now, &actions)
    return actions
  }

  // MARK: Records

  /// Updates the journal, and appends the action that stores the record.
  mutating func store(_ record: ChargeRecord, _ actions: inout [Action]) {
    journal.apply(.charge(record))
    actions.append(.store(.charge(record)))
  }

  /// Stores a record, and publishes its answer.
  mutating func change(_ record: ChargeRecord, _ actions: inout [Action]) {
    store(record, &actions)
    actions.append(.publish(record.answer))
  }

  /// Ends an operation on a charge: stores and publishes the new state.
  mutating func finish(
    _ record: ChargeRecord, _ state: ChargeRecord.State, reason: String? = nil,
    _ actions: inout [Action]
  ) {
    var record = record
    record.state = state
    record.reason = reason ?? record.reason
    if state == .captured, record.booked == nil { record.booked = record.asked }
    if state.isFinal || state == .unknown { unclear.remove(record.charge) }
    if prompt?.charge == record.charge { prompt = nil }
    change(record, &actions)
  }

  // MARK: The next command

  /// Whether a charge needs a command: a capture, a release, a refund, or a prompt that has not
  /// begun.
  var hasWork: Bool { nextOperation != nil || (prompt.map { !$0.hasBegun } ?? false) }

  /// The first charge, except unclear ones, that needs a capture, a release or a refund; or `nil` if none does.
  private var nextOperation: ChargeRecord? {
    journal.open.first { !unclear.contains($0.charge) && Self.needsCommand($0) }
  }

  /// Returns whether the requested capture, release or refund needs a separate terminal command.
  static func needsCommand(_ record: ChargeRecord) -> Bool {
    switch record.state {
    case .capturing: record.method == .reservation
    case .releasing:
      record.held != nil && (record.method == .reservation || record.isBookedEarly)
    case .refunding: true
    case .begun, .held, .declined, .captured, .released, .refunded, .unknown: false
    }
  }

  /// Begins the next command if the terminal is idle, and publishes the status if it has changed.
  mutating func proceed(at now: Duration, _ actions: inout [Action]) {
    // A charge that is released before its prompt begins gets no prompt.
    if step == nil, let prompt, !prompt.hasBegun, let record = journal.records[prompt.charge],
      record.state == .releasing
    {
      finish(record, .released, &actions)
    }
    perform(session.answerQuestion(at: now), at: now, &actions)
    if isConnected, session.isIdle, step == nil, pause <= now, let next = next(at: now) {
      begin(next, at: now, &actions)
    }
    if case .begin = step, let prompt, prompt.isEnded, busySince == nil { busySince = now }
    isBusy = busySince.map { now - $0 >= Self.busyLimit } ?? false
    guard status != lastStatus else { return }
    lastStatus = status
    actions.append(.status(status))
  }

  private func next(at now: Duration) -> Step? {
    guard isRegistered else { return .register }
    guard let state, state != 0x9C else { return .enquire }
    if needsReview {
      return evidence.open == nil ? .openReservations : .lastResult
    }
    if let record = nextOperation {
      switch record.state {
      case .capturing: return .capture(record.charge)
      case .releasing: return .release(record.charge)
      default: return .refund(record.charge)
      }
    }
    if let prompt, !prompt.hasBegun {
      return showsText && !prompt.isShown ? .display(prompt.charge) : .begin(prompt.charge)
    }
    if settings.foreignHolds == .release,
      let receipt = foreign?.filter({ nextForeignRelease[$0] ?? .zero <= now }).min()
    {
      return .releaseForeign(receipt)
    }
    if endOfDayIsDue, nextEndOfDay <= now, isDayOver { return .endOfDay }
    return nextEnquiry <= now ? .enquire : nil
  }

  /// Whether no charge is open except unknown ones, and the terminal executes no command.
  package var isIdle: Bool { isDayOver && step == nil }

  /// Whether an end of day may begin: no prompt, and no open charge except unknown ones.
  private var isDayOver: Bool {
    prompt == nil && journal.open.allSatisfy { $0.state == .unknown }
  }

  private mutating func begin(_ next: Step, at now: Duration, _ actions: inout [Action]) {
    switch next {
    case .release(let charge), .refund(let charge):
      guard let record = journal.records[charge], isReversal(record) else { break }
      let state: ChargeRecord.State = record.state == .refunding ? .captured : .unknown
      // guard: no reversal of a receipt from before an end of day
      if record.closings != journal.day.closings {
        return finish(record, state, reason: Self.isClosed, &actions)
      }
      // guard: no reversal that a terminal may apply to another payment
      if settings.reversal == .last, let receipt = record.receipt, !isLastReceipt(receipt) {
        return finish(record, state, reason: Self.isNotLast, &actions)
      }
    default: break
    }
    guard let command = command(for: next) else {
      // Occurs only with a terminal that sends no receipt numbers.
      switch next {
      case .capture(let charge), .release(let charge), .refund(let charge), .begin(let charge):
        guard let record = journal.records[charge] else { break }
        finish(record, .unknown, reason: "no receipt number", &actions)
      default: break
      }
      return
    }
    switch next {
    case .display: prompt?.isShown = true
    case .begin:
      prompt?.hasBegun = true
      prompt?.last = now
    case .endOfDay where journal.closing == nil:
      let entry = ChargeJournal.Entry.closing((journal.total?.total ?? 0) + 1)
      journal.apply(entry)
      actions.append(.store(entry))
    default: break
    }
    step = next
    perform(session.begin(command, at: now), at: now, &actions)
  }

  private func command(for step: Step) -> TerminalCommand? {
    let (currency, type) = (settings.currencyNumber, settings.paymentType)
    switch step {
    case .register:
      return .register(
        password: settings.password, configuration: settings.configuration, currency: currency,
        hasContainer: settings.hasContainer && !withoutContainer)
    case .enquire: return .enquireStatus(password: settings.password)
    case .openReservations: return .openReservations
    case .lastResult: return .repeatReceipt(password: settings.password)
    case .endOfDay: return .endOfDay(password: settings.password)
    case .display: return .display(lines: prompt?.lines ?? [], seconds: 2)
    case .releaseForeign(let receipt):
      return .releaseReservation(receipt: receipt, currency: currency, paymentType: type)
    case .begin(let charge):
      guard let record = journal.records[charge] else { return nil }
      return record.method == .goodsFirst
        ? .authorise(amount: record.price.units, asks: settings.asks)
        : .reserve(amount: record.price.units, currency: currency, paymentType: type)
    case .capture(let charge):
      guard let record = journal.records[charge], let receipt = record.receipt,
        let asked = record.asked, let held = record.held
      else { return nil }
      return capture == .bookTotal
        ? .bookTotal(receipt: receipt, amount: asked)
        : .reverseInPart(
          receipt: receipt, amount: held - asked, currency: currency, paymentType: type)
    case .release(let charge):
      guard let record = journal.records[charge], let receipt = record.receipt else { return nil }
      return record.method == .reservation
        ? .releaseReservation(receipt: receipt, currency: currency, paymentType: type)
        : .reverse(password: settings.password, receipt: receipt)
    case .refund(let charge):
      guard let record = journal.records[charge], let receipt = record.receipt else { return nil }
      return .reverse(password: settings.password, receipt: receipt)
    }
  }

  // MARK: The prompt

  func promptEnd(_ prompt: Prompt) -> Duration { min(prompt.last + prompt.pay, prompt.limit) }

  /// Marks the prompt as ended. If the prompt has begun and the terminal accepts aborts, sends an
  /// abort at the first call, and at a later call if the next abort is due.
  mutating func endPrompt(at now: Duration, _ actions: inout [Action]) {
    guard var current = prompt else { return }
    let isFirst = !current.isEnded
    current.isEnded = true
    let isDue = isFirst || (current.nextAbort.map { $0 <= now } ?? false)
    if current.hasBegun, settings.canAbort, isDue {
      // The device repeats the abort: a terminal ignores one that arrives between two states.
      current.nextAbort = now + .seconds(2)
      prompt = current
      perform(session.abort(), at: now, &actions)
    } else {
      prompt = current
    }
  }
}
