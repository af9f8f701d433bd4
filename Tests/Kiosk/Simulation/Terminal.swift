import InMemoryBroker
import KioskProtocol
import MessageBroker

/// A simulated payment device, built from the rules in payment-contract.md: its journal is the
/// money that moved, and survives its power cycles.
package final class Terminal {
  /// A malfunction that happens at the next opportunity.
  package enum Malfunction: Hashable, Sendable {
    case crash(Moment)
    /// The customer refuses, does not come, or shows the card first and pays some seconds later.
    case declines, leaves, presents
    /// The device holds 10 cents more than asked for.
    case holdsMore
    /// The terminal says no to a capture, with or without the hold, or to a refund.
    case keepsHold, losesHold, keepsMoney
    /// The terminal gives back the next hold after a second.
    case expires
    /// The terminal executes the next request, or does not, and the device cannot find out which.
    case isUncertain(executes: Bool)
    /// The device sends its next answer never, twice, or 40 seconds late.
    case isSilent, repeats, isLate
  }

  /// A moment around the durable change of the journal.
  package enum Moment: Hashable, Sendable, CaseIterable { case before, between, after }

  /// A charge in the journal. What was held is what is held, captured and released.
  struct Charge {
    var state: State
    let asked: Int
    /// The sums that were moved, in cents.
    var held = 0, captured = 0, released = 0, refunded = 0
    /// Whether the device cannot find out the state before it is repaired.
    var isHidden = false
    /// Whether the state has changed while it was hidden.
    var isNews = false
  }

  package enum State: String, Sendable {
    case waiting, held, declined, captured, released, refunded, unknown
  }

  let name: String
  private(set) var charges: [Int: Charge] = [:]
  /// The number of the last charge.
  private(set) var last = 0
  /// The captures and refunds of the current day, and the number of ended days.
  private(set) var day = (captured: 0, refunded: 0, count: 0, total: 0)
  private(set) var fault: String?
  private var malfunctions: [Malfunction] = []
  private(set) var board: TerminalBoard?
  private let broker: MemoryBroker
  private let executor: ManualExecutor
  private var task: Task<Void, Never>?

  init(_ name: String, _ broker: MemoryBroker, _ executor: ManualExecutor) {
    (self.name, self.broker, self.executor) = (name, broker, executor)
  }

  static func all(_ count: Int) -> [String] { Array(["terminal", "box"].prefix(count)) }

  var clientID: String { "payment-\(name)" }

  func status(_ text: String) -> Message {
    Message(topic: "kiosk/k1/payment/\(name)/status", text: text, retain: true)
  }

  // MARK: Power

  func powerOn() {
    guard board == nil else { return }
    // A prompt ends with the power, and nothing is held.
    for (number, charge) in charges where charge.state == .waiting {
      charges[number]?.state = .declined
    }
    // Both run on one thread.
    nonisolated(unsafe) let terminal = self
    let board = TerminalBoard(terminal, broker.client(on: executor), clock: broker)
    self.board = board
    let options = SessionOptions(
      clientID: clientID,
      subscriptions: ["", "/+"].map { TopicFilter(unchecked: "kiosk/k1/charge/\(name)\($0)") },
      will: status("offline"), cleanStart: true, sessionExpiry: .zero)
    task = Task(executorPreference: executor) { await board.run(options) }
  }

  /// Ends the connection. The broker publishes the will.
  func powerOff() {
    guard let board else { return }
    self.board = nil
    broker.kill(board.client)
    task?.cancel()
  }

  // MARK: Malfunctions

  func schedule(_ malfunction: Malfunction) { malfunctions.append(malfunction) }

  /// Ends all malfunctions; the device finds out what became of each charge.
  func repair() {
    malfunctions = []
    fault = nil
    for number in charges.keys where charges[number]?.isHidden == true {
      charges[number]?.isHidden = false
      charges[number]?.isNews = true
    }
  }

  func setFault(_ fault: String?) { self.fault = fault }

  /// Returns whether a malfunction is scheduled, and removes it.
  func take(_ malfunction: Malfunction) -> Bool {
    guard let index = malfunctions.firstIndex(of: malfunction) else { return false }
    malfunctions.remove(at: index)
    return true
  }

  // MARK: Journal

  func begin(_ charge: Int, asked: Int) {
    last = charge
    charges[charge] = Charge(state: .waiting, asked: asked)
  }

  /// Stores a number that shall never begin.
  func refuse(_ charge: Int, _ state: State) {
    last = charge
    charges[charge] = Charge(state: state, asked: 0)
  }

  /// Changes the state of a charge, and moves the money.
  func move(_ number: Int, to state: State, cents: Int = 0) {
    guard var charge = charges[number] else { return }
    charge.state = state
    switch state {
    case .held: charge.held = cents
    case .captured:
      charge.captured = cents
      charge.released = charge.held - cents
      day = (day.captured + cents, day.refunded, day.count + 1, day.total)
    case .released: charge.released = charge.held
    case .refunded:
      charge.refunded = charge.captured
      day.refunded += charge.captured
    case .waiting, .declined, .unknown: break
    }
    charges[number] = charge
  }

  func hide(_ number: Int) { charges[number]?.isHidden = true }

  /// Returns the charges that the device reports on each connection.
  func takeNews() -> [Int] {
    defer { for number in charges.keys { charges[number]?.isNews = false } }
    return charges.filter {
      $0.value.state == .held || $0.value.state == .unknown || $0.value.isHidden || $0.value.isNews
    }.map(\.key).sorted()
  }

  /// Ends the day, or returns `nil` while a charge is open.
  func endDay() -> (captured: Int, refunded: Int, count: Int, total: Int)? {
    guard !charges.values.contains(where: { $0.state == .held || $0.state == .waiting }) else {
      return nil
    }
    day.total += 1
    defer { day = (0, 0, 0, day.total) }
    return day
  }

  /// Returns the answer about a charge.
  func answer(about number: Int) -> String {
    let charge = charges[number]
    let state = charge?.isHidden == true ? .unknown : charge?.state ?? .unknown
    let cents: Int? =
      switch state {
      case .held: charge?.held
      case .captured: charge?.captured
      case .refunded: charge?.refunded
      case .waiting, .declined, .released, .unknown: nil
      }
    let money = cents.map { #","amount":\#($0),"currency":"EUR""# } ?? ""
    return #"{"charge":\#(number),"status":"\#(state.rawValue)"\#(money)}"#
  }
}

/// A payment device between power on and power off.
actor TerminalBoard {
  nonisolated let client: MemoryClient
  nonisolated var unownedExecutor: UnownedSerialExecutor { client.unownedExecutor }
  // All run on one thread.
  nonisolated(unsafe) private unowned let terminal: Terminal
  private let clock: MemoryBroker
  /// The charge that the customer is asked to pay, and the times of what the customer does.
  private var prompt: (charge: Int, presents: Duration?, pays: Duration?, ends: Duration)?
  /// The hold that the terminal gives back by itself.
  private var expiry: (charge: Int, at: Duration)?
  private var late: [(at: Duration, answer: String)] = []
  private var crashesAfterwards = false

  init(_ terminal: Terminal, _ client: MemoryClient, clock: MemoryBroker) {
    (self.terminal, self.client, self.clock) = (terminal, client, clock)
  }

  private var isOn: Bool { terminal.board === self }

  func run(_ options: SessionOptions) async {
    await client.connect(options)
    while isOn, !Task.isCancelled {
      let event = await client.nextEvent(timeout: wait)
      guard isOn else { return }
      switch event {
      case .online: publishAll()
      case .deliveries(let deliveries):
        for delivery in deliveries where isOn { receive(delivery.message) }
      case .offline, .confirmed, .updated, .refused, .sessionBegan, nil: break
      }
      if isOn { fireTimers() }
      guard isOn else { return }
      await client.acknowledge()
      if crashesAfterwards { terminal.powerOff() }
    }
  }

  private func publishStatus() {
    publish(terminal.status(terminal.fault.map { "fault: \($0)" } ?? "online"))
  }

  private func publishAll() {
    publishStatus()
    for charge in terminal.takeNews() where isOn { send(about: charge) }
  }

  func faultChanged() {
    publishStatus()
    client.assumeIsolated { _ = $0.acknowledge() }
  }

  func endDay(at time: Timestamp) {
    guard let day = terminal.endDay() else { return }
    publish(
      Message(
        topic: "kiosk/k1/payment/\(terminal.name)/total",
        text: """
          {"total":\(day.total),"at":"\(time)","currency":"EUR","captured":\(day.captured),\
          "refunded":\(day.refunded),"count":\(day.count)}
          """, retain: true))
    client.assumeIsolated { _ = $0.acknowledge() }
  }

  /// Publishes an answer that nothing has caused.
  func publishStray(_ answer: String) {
    publish(answer: answer)
    client.assumeIsolated { _ = $0.acknowledge() }
  }

  // MARK: The rules

  private func receive(_ message: Message) {
    if message.topic.hasSuffix("/open"), let epoch = (try? JSON.parse(message.payload))?.epoch {
      for charge in terminal.takeNews() where isOn { send(about: charge) }
      if !terminal.take(.isSilent) { publish(answer: #"{"status":"open","epoch":\#(epoch)}"#) }
      return
    }
    guard let json = try? JSON.parse(message.payload), case .integer(let number) = json["charge"]
    else { return }
    let action = message.topic.split(separator: "/").dropFirst(4).first.map(String.init)
    let isNew = number > terminal.last
    guard let charge = terminal.charges[number] else {
      switch action {
      case nil where isNew:
        if case .integer(let cents) = json["amount"] { begin(number, cents) }
        return
      case "release" where isNew: terminal.refuse(number, .released)
      case "capture" where isNew, "refund" where isNew: terminal.refuse(number, .unknown)
      default: break
      }
      return send(about: number)
    }
    guard !charge.isHidden else { return send(about: number) }
    switch (action, charge.state) {
    case ("capture", .held):
      guard case .integer(let cents) = json["amount"] else { return }
      if terminal.take(.keepsHold) { return send(about: number) }
      change(number, to: terminal.take(.losesHold) ? .released : .captured, min(cents, charge.held))
    case ("release", .held): change(number, to: .released)
    case ("refund", .captured):
      if terminal.take(.keepsMoney) { return send(about: number) }
      change(number, to: .refunded)
    case ("release", .waiting):
      prompt = nil
      change(number, to: .released)
    default: send(about: number)
    }
  }

  private func begin(_ number: Int, _ cents: Int) {
    // A busy device does not answer, and the kiosk asks again.
    guard prompt == nil, terminal.fault == nil else { return }
    if terminal.take(.crash(.before)) { return terminal.powerOff() }
    terminal.begin(number, asked: cents)
    if terminal.take(.crash(.between)) { return terminal.powerOff() }
    let now = clock.now
    let pays = now + .seconds(1 + number % 6)
    let presents = terminal.take(.presents)
    prompt = (
      number, presents ? now + .seconds(1) : nil,
      terminal.take(.leaves) ? nil : presents ? pays + .seconds(4) : pays, now + .seconds(45)
    )
    send(about: number)
  }

  /// Moves the money, and answers.
  private func change(_ number: Int, to state: Terminal.State, _ cents: Int = 0) {
    if terminal.take(.crash(.before)) { return terminal.powerOff() }
    let fails = terminal.take(.isUncertain(executes: false))
    if fails || terminal.take(.isUncertain(executes: true)) { terminal.hide(number) }
    if !fails { terminal.move(number, to: state, cents: cents) }
    if terminal.take(.crash(.between)) { return terminal.powerOff() }
    send(about: number)
    if terminal.take(.crash(.after)) { crashesAfterwards = true }
  }

  // MARK: Timers

  private var wait: Duration? {
    let times = [prompt?.presents, prompt?.pays, prompt?.ends, expiry?.at].compactMap(\.self)
    return (times + late.map(\.at)).min().map { max($0 - clock.now, .zero) }
  }

  private func fireTimers() {
    let now = clock.now
    if let presents = prompt?.presents, presents <= now, let number = prompt?.charge {
      prompt?.presents = nil
      publish(answer: #"{"charge":\#(number),"status":"waiting","presented":true}"#)
    }
    if let (number, _, pays, ends) = prompt {
      if let pays, pays <= now {
        prompt = nil
        let cents = terminal.charges[number]?.asked ?? 0
        if terminal.take(.declines) {
          change(number, to: .declined)
        } else {
          change(number, to: .held, terminal.take(.holdsMore) ? cents + 10 : cents)
          if terminal.take(.expires) { expiry = (number, now + .seconds(1)) }
        }
      } else if ends <= now {
        prompt = nil
        change(number, to: .declined)
      }
    }
    guard isOn else { return }
    if let (number, at) = expiry, at <= now {
      expiry = nil
      if terminal.charges[number]?.state == .held { change(number, to: .released) }
    }
    guard isOn else { return }
    for answer in late where answer.at <= now { publish(answer: answer.answer) }
    late.removeAll { $0.at <= now }
  }

  // MARK: Answers

  private func send(about charge: Int) {
    let answer = terminal.answer(about: charge)
    if terminal.take(.isSilent) { return }
    if terminal.take(.isLate) { return late.append((clock.now + .seconds(40), answer)) }
    publish(answer: answer)
    if terminal.take(.repeats) { publish(answer: answer) }
  }

  private func publish(answer: String) {
    publish(Message(topic: "kiosk/k1/paid/\(terminal.name)", text: answer))
  }

  private func publish(_ message: Message) {
    client.assumeIsolated { _ = try? $0.publish([message]) }
  }
}
