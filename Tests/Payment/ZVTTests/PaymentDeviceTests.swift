import JuiceDomain
import KioskProtocol
import Testing
import ZVT

/// A device with its disk and a simulated terminal. A power cut can come after any action.
struct World {
  struct PowerCut: Error {}

  var settings = DeviceSettings()
  var terminal = SimulatedTerminal()
  var disk: [ChargeJournal.Entry] = []
  var device: PaymentDevice
  var published: [PaymentAnswer] = []
  var status = MachineStatus.offline
  var totals: [PaymentTotal] = []
  /// The epochs of the requests for all open charges that the device has answered.
  var inventories: [Int] = []
  var now = Duration.zero
  /// The number of actions until the power cut.
  var actionsLeft = Int.max
  var actionCount = 0

  init(_ settings: DeviceSettings, _ habits: SimulatedTerminal.Habits) {
    self.settings = settings
    terminal.habits = habits
    device = PaymentDevice(settings, ChargeJournal())
  }

  /// Starts with the journal of the disk.
  mutating func start() throws {
    var journal = ChargeJournal()
    for entry in disk { journal.apply(entry) }
    terminal.disconnect()
    device = PaymentDevice(settings, journal)
    try perform(device.connected(at: now))
  }

  mutating func send(_ command: ChargeCommand) throws {
    try perform(device.receive(command, at: now))
  }

  /// Sends commands to the device. The terminal executes them, and its answers are lost.
  mutating func sendWithoutAnswer(_ commands: [ChargeCommand]) {
    for command in commands { lose(device.receive(command, at: now)) }
  }

  /// Sends a command to the device, whose connection is cut before the terminal has read anything.
  mutating func sendIntoNothing(_ command: ChargeCommand) {
    for case .store(let entry) in device.receive(command, at: now) { disk.append(entry) }
  }

  mutating func endDayWithoutAnswer() { lose(device.endDay(at: now)) }

  private mutating func lose(_ actions: [PaymentDevice.Action]) {
    for action in actions {
      switch action {
      case .store(let entry): disk.append(entry)
      case .send(let bytes): _ = terminal.receive(bytes)
      default: break
      }
    }
  }

  /// Loses the connection to the terminal, and connects again.
  mutating func reconnect() throws { try perform([.disconnect("")]) }

  mutating func endDay() throws { try perform(device.endDay(at: now)) }

  mutating func tick() throws { try perform(device.tick(at: now)) }

  /// Lets time pass until the next deadline, and the terminal ask again.
  mutating func wait() throws {
    now += .seconds(1)
    try perform(device.received(terminal.ask(), at: now))
    guard let deadline = device.deadline, deadline <= now + .seconds(5) else { return }
    now = max(now, deadline)
    try perform(device.tick(at: now))
  }

  /// Expects that the disk has what a command that moves money is about to do.
  private func checkRecord(before bytes: [UInt8]) {
    let states: [ChargeRecord.State]
    switch (bytes[0], bytes[1]) {
    case (0x06, 0x01), (0x06, 0x22): states = [.begun]
    case (0x06, 0x23) where bytes.count > 6: states = [.capturing]
    case (0x06, 0x24): states = [.capturing]
    case (0x06, 0x25): states = [.releasing]
    case (0x06, 0x30): states = [.releasing, .refunding]
    case (0x80, 0x00) where terminal.isAsking: states = [.capturing]
    case (0x84, 0x66): states = [.releasing]
    default: return
    }
    var last: [Int: ChargeRecord.State] = [:]
    for case .charge(let record) in disk { last[record.charge] = record.state }
    #expect(last.values.contains { states.contains($0) }, "\(bytes) with \(last)")
  }

  private mutating func perform(_ actions: [PaymentDevice.Action]) throws {
    var rest = actions[...]
    while let action = rest.popFirst() {
      guard actionsLeft > 0 else { throw PowerCut() }
      actionsLeft -= 1
      actionCount += 1
      switch action {
      case .store(let entry): disk.append(entry)
      case .send(let bytes):
        checkRecord(before: bytes)
        if bytes.starts(with: [0x06, 0x01]) || bytes.starts(with: [0x06, 0x22]) {
          let begun = disk.compactMap { entry -> Int? in
            guard case .charge(let record) = entry else { return nil }
            return record.state == .begun ? record.charge : nil
          }
          terminal.customer = begun.last ?? 0
        }
        let answer = terminal.receive(bytes)
        // The remaining actions come first: they are of the event before.
        if !answer.isEmpty {
          try perform(Array(rest))
          try perform(device.received(answer, at: now))
          return
        }
      case .publish(let answer): published.append(answer)
      case .status(let new): status = new
      case .disconnect:
        terminal.disconnect()
        try perform(Array(rest) + device.disconnected(at: now))
        try perform(device.connected(at: now))
        return
      case .total(let total): totals.append(total)
      case .inventory(let epoch): inventories.append(epoch)
      case .log: break
      }
    }
  }
}

@Suite struct PaymentDeviceTests {
  enum Goal: CaseIterable { case capture, half, release, refund }

  static let request = ChargeRequest(
    charge: 17, ticket: 4, amount: Money(units: 350, .euro), text: "Kiwi juice")

  /// Asks for what the goal needs until the charge has an end, as a kiosk does.
  private func run(_ world: inout World, to goal: Goal) throws {
    for _ in 0..<30 {
      switch world.published.last?.status {
      case nil: try world.send(.charge(Self.request))
      case .waiting:
        try world.wait()
        if world.published.last?.status.name == "waiting" { try world.send(.charge(Self.request)) }
      case .held:
        let count = world.published.count
        switch goal {
        case .capture, .refund: try world.send(.capture(charge: 17, amount: 350))
        case .half: try world.send(.capture(charge: 17, amount: 100))
        case .release: try world.send(.release(charge: 17))
        }
        try world.wait()
        if world.published.count == count { try world.send(.state(charge: 17)) }
      case .captured where goal == .refund:
        try world.send(.refund(charge: 17))
        try world.wait()
      case .captured, .declined, .released, .refunded, .unknown: return
      }
    }
    Issue.record("no end: \(world.published.map(\.status))")
  }

  private func judge(_ world: World, _ goal: Goal, canBeUnknown: Bool, _ comment: Comment) {
    var journal = ChargeJournal()
    for entry in world.disk { journal.apply(entry) }
    guard let record = journal.records[17] else {
      #expect(world.terminal.moves == 0, comment)
      return
    }
    #expect(canBeUnknown || !world.published.contains { $0.status.name == "unknown" }, comment)
    let (holds, booked) = (world.terminal.holds, world.terminal.booked)
    switch record.state {
    case .captured:
      #expect(holds.isEmpty, comment)
      #expect(Array(booked.values) == [record.booked ?? 0], comment)
      #expect(record.booked == (goal == .half ? 100 : 350), comment)
    case .released, .declined, .refunded:
      #expect(holds.isEmpty && booked.isEmpty, comment)
    case .unknown: #expect(canBeUnknown, comment)
    case .begun, .held, .capturing, .releasing, .refunding:
      Issue.record("\(comment): \(record.state)")
    }
    #expect(world.published.last?.status.name == record.state.rawValue, comment)
  }

  private static let methods: [DeviceSettings.Mode] = [.reservation, .goodsFirst]

  private func world(_ mode: DeviceSettings.Mode, _ habits: SimulatedTerminal.Habits) -> World {
    var settings = DeviceSettings()
    (settings.mode, settings.booksInPart) = (mode, false)
    return World(settings, habits)
  }

  @Test(arguments: methods, Goal.allCases)
  func withoutAPowerCut(mode: DeviceSettings.Mode, goal: Goal) throws {
    var world = world(mode, SimulatedTerminal.Habits())
    try world.start()
    #expect(world.status == .online)
    try run(&world, to: goal)
    let status = world.published.last?.status.name
    switch goal {
    case .capture: #expect(status == "captured")
    case .half: #expect(status == (mode == .goodsFirst ? "released" : "captured"))
    case .release: #expect(status == "released")
    case .refund: #expect(status == "refunded")
    }
    judge(world, goal, canBeUnknown: false, "no power cut")
  }

  /// After each action, and then again after each action of the second life.
  @Test(arguments: methods, Goal.allCases)
  func aPowerCutAfterEveryAction(mode: DeviceSettings.Mode, goal: Goal) throws {
    for books in [false, true] {
      for lists in [true, false] {
        let habits = SimulatedTerminal.Habits(lists: lists, booksOnSilence: books)
        for first in 0..<200 {
          guard try cut(mode, goal, habits, after: [first]) else { break }
          for second in stride(from: 0, to: 60, by: lists ? 1 : 7) {
            guard try cut(mode, goal, habits, after: [first, second]) else { break }
          }
        }
      }
    }
  }

  /// - Returns: `false` if the last power cut would come after the end.
  private func cut(
    _ mode: DeviceSettings.Mode, _ goal: Goal, _ habits: SimulatedTerminal.Habits,
    after lives: [Int], canBeUnknown: Bool = false
  ) throws -> Bool {
    var world = world(mode, habits)
    for life in lives {
      world.actionsLeft = life
      do {
        try world.start()
        try run(&world, to: goal)
        return false
      } catch is World.PowerCut {}
    }
    world.actionsLeft = .max
    // The kiosk asks for what it does not know.
    try world.start()
    try world.send(.state(charge: 17))
    if world.published.last?.status.name == "unknown", world.device.journal.records[17] == nil {
      world.published = []
    }
    try run(&world, to: goal)
    judge(
      world, goal, canBeUnknown: canBeUnknown,
      "\(mode) \(goal) \(habits) after \(lives): \(world.published.map(\.status))")
    return true
  }

  /// A terminal that does not repeat its last result leaves more unknown, and nothing wrong.
  @Test(arguments: methods, Goal.allCases)
  func aTerminalThatDoesNotSay(mode: DeviceSettings.Mode, goal: Goal) throws {
    for lists in [true, false] {
      let habits = SimulatedTerminal.Habits(lists: lists, repeats: false)
      for first in 0..<200 {
        guard try cut(mode, goal, habits, after: [first], canBeUnknown: true) else { break }
      }
    }
  }

  /// Each command that moves money is sent after its record is on the disk.
  @Test(arguments: methods)
  func recordsComeFirst(mode: DeviceSettings.Mode) throws {
    var world = world(mode, SimulatedTerminal.Habits())
    try world.start()
    let before: [ChargeRecord.State] = [.begun, .capturing]
    let actions =
      world.device.receive(.charge(Self.request), at: .zero)
      .filter { if case .status = $0 { false } else { true } }
    guard case .store(.charge(let record)) = actions.first else {
      Issue.record("\(actions)")
      return
    }
    #expect(record.state == before[0])
    #expect(actions.contains { if case .send = $0 { true } else { false } })
    #expect(!actions.contains { if case .publish = $0 { true } else { false } })
  }

  @Test func aPromptEndsByItself() throws {
    for mode in Self.methods {
      var world = world(mode, SimulatedTerminal.Habits(hasCustomer: false))
      try world.start()
      try world.send(.charge(Self.request))
      #expect(world.published.map(\.status) == [.waiting(isPresented: false)])
      world.now = .seconds(46)
      try world.send(.state(charge: 17))
      #expect(world.published.last?.status.name == "waiting")
      let deadline = try #require(world.device.deadline)
      #expect(deadline <= .seconds(46))
      try world.wait()
      #expect(world.published.last?.status.name == "declined")
      #expect(world.published.last?.reason == "timeout")
    }
  }

  @Test func thePromptOfATerminalWithoutReservationsHasTheTimeToPay() throws {
    var world = world(.auto, SimulatedTerminal.Habits(hasCustomer: false, reserves: false))
    try world.start()
    try world.send(
      .charge(ChargeRequest(charge: 17, amount: Money(units: 350, .euro), paySeconds: 10)))
    #expect(world.published.map(\.status) == [.waiting(isPresented: false)])
    #expect(world.device.journal.records[17]?.method == .goodsFirst)
    #expect(world.device.deadline == .seconds(10))
  }

  /// The end of day follows the juice: a terminal refuses it while an amount is held.
  @Test(arguments: methods)
  func noEndOfDayWhileAJuiceIsMade(mode: DeviceSettings.Mode) throws {
    var world = world(mode, SimulatedTerminal.Habits())
    try world.start()
    try world.send(.charge(Self.request))
    try world.wait()
    #expect(world.published.last?.status.name == "held")
    try world.endDay()
    for _ in 0..<3 { try world.wait() }
    #expect(world.terminal.days == 0)
    try run(&world, to: .capture)
    for _ in 0..<3 { try world.wait() }
    #expect(world.terminal.days == 1)
  }

  @Test func anotherOnesResultIsNotTaken() throws {
    // The terminal has a result of the same amount before the device is connected for the first time.
    var world = world(.goodsFirst, SimulatedTerminal.Habits())
    try world.start()
    try run(&world, to: .capture)
    var other = World(world.settings, world.terminal.habits)
    other.terminal = world.terminal
    other.terminal.disconnect()
    other.terminal.habits.hasCustomer = false
    try other.start()
    try other.send(.charge(Self.request))
    // The connection is lost in the prompt: the old result is not that of the new charge.
    try other.start()
    #expect(other.published.last?.status.name == "declined")
  }

  /// The terminal repeats the result of the end of day, whose sum is the price of the next juice.
  @Test func theResultOfAnEndOfDayIsNotThatOfTheNextCharge() throws {
    var world = world(.goodsFirst, SimulatedTerminal.Habits())
    try world.start()
    try run(&world, to: .capture)
    try world.endDay()
    #expect(world.terminal.days == 1)
    world.terminal.habits.hasCustomer = false
    try world.send(.charge(ChargeRequest(charge: 18, amount: Money(units: 350, .euro))))
    try world.reconnect()
    #expect(world.published.last?.status.name == "declined")
  }

  /// The answer to an end of day is lost, and the terminal refuses another one until it has a new
  /// payment. Its sum is that of this payment only.
  @Test func afterALostEndOfDayTheSumOfTheTerminalIsNotCompared() throws {
    var world = world(.reservation, SimulatedTerminal.Habits(endsEmptyDays: false))
    try world.start()
    try run(&world, to: .capture)
    world.endDayWithoutAnswer()
    try world.reconnect()
    #expect(world.terminal.days == 2 && world.device.journal.total == nil)
    try world.send(.charge(ChargeRequest(charge: 18, amount: Money(units: 350, .euro))))
    try world.send(.capture(charge: 18, amount: 350))
    world.now += .seconds(1800)
    try world.wait()
    let total = try #require(world.device.journal.total)
    #expect(total.captured.units == 700 && total.terminalNet == nil)
  }

  @Test func aCaptureThatWaitsForTheTerminalHasAReasonAndIsMadeOnce() throws {
    var world = world(.reservation, SimulatedTerminal.Habits())
    try world.start()
    try world.send(.charge(Self.request))
    _ = world.device.disconnected(at: world.now)
    for _ in 1...2 { try world.send(.capture(charge: 17, amount: 350)) }
    #expect(world.published.last?.status.name == "held")
    #expect(world.published.last?.reason == "terminal away")
    try world.reconnect()
    #expect(world.published.last?.status.name == "captured")
    #expect(world.terminal.booked.count == 1)
  }

  /// The terminal makes the first of two refunds, and its answer is lost. The second refund is not
  /// taken for it.
  @Test(arguments: [true, false])
  func theResultOfOneRefundIsNotThatOfAnother(restarts: Bool) throws {
    var world = world(.reservation, SimulatedTerminal.Habits())
    try world.start()
    for charge in [17, 18] {
      try world.send(.charge(ChargeRequest(charge: charge, amount: Money(units: 350, .euro))))
      try world.send(.capture(charge: charge, amount: 350))
    }
    #expect(world.terminal.booked.count == 2)
    world.sendWithoutAnswer([.refund(charge: 17), .refund(charge: 18)])
    #expect(world.terminal.booked.count == 1)
    if restarts { try world.start() } else { try world.reconnect() }
    let states = [17, 18].map { world.device.journal.records[$0]?.state }
    // After a start the device does not know which of the two it had sent.
    #expect(states == (restarts ? [.unknown, .unknown] : [.refunded, .refunded]))
    #expect(world.terminal.booked.count == (restarts ? 1 : 0))
  }

  /// The answer to a reservation is lost while a refund waits.
  @Test(arguments: [true, false])
  func theResultOfAReservationIsNotThatOfARefund(lists: Bool) throws {
    var settings = DeviceSettings()
    (settings.mode, settings.showsText) = (.reservation, false)
    var world = World(settings, SimulatedTerminal.Habits(lists: lists))
    try world.start()
    try run(&world, to: .capture)
    let next = ChargeRequest(charge: 18, amount: Money(units: 350, .euro))
    world.sendWithoutAnswer([.charge(next)])
    // The customer presents the card.
    _ = world.terminal.receive(APDU(0x8000).bytes)
    world.sendWithoutAnswer([.refund(charge: 17)])
    #expect(world.terminal.holds.count == 1 && world.terminal.booked.count == 1)
    try world.reconnect()
    let states = [17, 18].map { world.device.journal.records[$0]?.state }
    #expect(states == [.refunded, .held])
    #expect(world.terminal.holds.count == 1 && world.terminal.booked.isEmpty)
  }

  /// The kiosk releases the charge before the terminal refuses the text or the prompt because it is
  /// busy.
  @Test(arguments: methods, [false, true])
  func aReleasedPromptThatABusyTerminalRefusesIsNotRepeated(
    mode: DeviceSettings.Mode, showsText: Bool
  ) throws {
    var settings = DeviceSettings()
    (settings.mode, settings.showsText, settings.canAbort) = (mode, showsText, false)
    var world = World(settings, SimulatedTerminal.Habits(hasCustomer: false))
    try world.start()
    world.sendWithoutAnswer([.charge(Self.request), .release(charge: 17)])
    #expect(world.device.journal.records[17]?.state == .releasing)
    _ = world.device.received([0x84, 0x9C, 0], at: world.now)
    #expect(world.device.journal.records[17]?.state == .released)
    #expect(world.device.isIdle)
  }

  /// The charge waits for the busy terminal, and is released during the refund of another charge.
  @Test func aPromptThatIsReleasedDuringAnotherCommandDoesNotBegin() throws {
    var settings = DeviceSettings()
    (settings.mode, settings.showsText) = (.reservation, false)
    var world = World(settings, SimulatedTerminal.Habits())
    try world.start()
    try run(&world, to: .capture)
    let next = ChargeRequest(charge: 18, amount: Money(units: 350, .euro))
    world.sendWithoutAnswer([.charge(next)])
    _ = world.device.received([0x84, 0x9C, 0], at: world.now)
    world.now += .seconds(2)
    world.sendWithoutAnswer([.refund(charge: 17), .release(charge: 18)])
    #expect(world.device.journal.records[18]?.state == .releasing)
    _ = world.device.received([0x84, 0x83, 0], at: world.now)
    let states = [17, 18].map { world.device.journal.records[$0]?.state }
    #expect(states == [.captured, .released] && world.device.isIdle)
  }

  @Test func numbersThatWereNeverBegun() throws {
    var world = world(.reservation, SimulatedTerminal.Habits())
    try world.start()
    try world.send(.charge(Self.request))
    func send(_ command: ChargeCommand) throws -> PaymentAnswer.Status? {
      try world.send(command)
      return world.published.last?.status
    }
    let lower = ChargeRequest(charge: 12, amount: Money(units: 350, .euro))
    #expect(try send(.charge(lower)) == .unknown)
    #expect(try send(.capture(charge: 12, amount: 350)) == .unknown)
    #expect(try send(.state(charge: 40)) == .unknown)
    #expect(world.device.journal.last == 17)
    #expect(try send(.release(charge: 30)) == .released)
    let higher = ChargeRequest(charge: 30, amount: Money(units: 350, .euro))
    #expect(try send(.charge(higher)) == .released)
    #expect(world.terminal.moves == 1)
  }

  @Test func chargesWithOtherContentsAreLoggedOnceAMinute() throws {
    var world = world(.reservation, SimulatedTerminal.Habits())
    try world.start()
    try world.send(.charge(Self.request))
    let other = ChargeRequest(charge: 17, ticket: 5, amount: Money(units: 350, .euro))
    var lines: [String] = []
    for second in [0, 1, 59, 60] {
      let actions = world.device.receive(.charge(other), at: world.now + .seconds(second))
      for case .log(let text) in actions { lines.append(text) }
    }
    let line = "charge 17 was asked for before, with other contents"
    #expect(lines == [line, "\(line) (and 2 more since the last such line)"])
  }

  @Test func aHoldOfNobodyIsAFault() throws {
    var world = world(.reservation, SimulatedTerminal.Habits())
    try world.start()
    try world.send(.charge(Self.request))
    #expect(world.published.last?.status.name == "held")
    world.disk = []
    try world.start()
    #expect(world.status == .fault("unknown hold, receipt 2"))
    try world.send(.release(charge: 17))
    #expect(world.published.last?.status.name == "unknown")
    let count = world.published.count
    try world.send(.charge(ChargeRequest(charge: 18, amount: Money(units: 350, .euro))))
    #expect(world.published.count == count)
    #expect(world.terminal.holds == [2: 350])
  }
}
