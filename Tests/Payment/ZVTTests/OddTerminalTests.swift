import JuiceDomain
import KioskProtocol
import Testing
import ZVT

/// Terminals that were seen in the field: whose result is it, which day is it, who sets the pace?
@Suite struct OddTerminalTests {
  private static let modes: [DeviceSettings.Mode] = [.reservation, .goodsFirst]

  private func world(
    _ mode: DeviceSettings.Mode, _ habits: SimulatedTerminal.Habits = .init()
  ) throws -> World {
    var settings = DeviceSettings()
    settings.mode = mode
    var world = World(settings, habits)
    try world.start()
    return world
  }

  private func request(_ charge: Int, _ units: Int = 350, readySeconds: Int = 0) -> ChargeCommand {
    .charge(
      ChargeRequest(
        charge: charge, amount: Money(units: units, .euro), readySeconds: readySeconds))
  }

  /// Pays a charge.
  private func pay(_ world: inout World, _ charge: Int, _ units: Int = 350) throws {
    try world.send(request(charge, units))
    try world.wait()
    #expect(world.published.last?.status.name == "held")
    try world.send(.capture(charge: charge, amount: units))
    try world.wait()
    #expect(world.published.last?.status.name == "captured")
  }

  // MARK: Whose result

  /// The terminal repeats the result of the customer before under a new trace number.
  @Test(arguments: modes)
  func theLastResultOfAnotherCustomerPaysNothing(mode: DeviceSettings.Mode) throws {
    var world = try world(mode, .init(renumbers: true))
    try pay(&world, 17)
    world.terminal.habits.hasCustomer = false
    try world.send(request(18))
    try world.reconnect()
    #expect(world.published.last?.charge == 18)
    #expect(["declined", "unknown"].contains(world.published.last?.status.name))
    #expect(world.terminal.booked.values.reduce(0, +) == 350)
  }

  /// The connection is cut before the terminal has received the reversal.
  @Test(arguments: modes)
  func aRefundThatWasNotSentIsNotRefunded(mode: DeviceSettings.Mode) throws {
    var world = try world(mode, .init(renumbers: true))
    try pay(&world, 17)
    world.sendIntoNothing(.refund(charge: 17))
    try world.start()
    try world.send(.state(charge: 17))
    #expect(world.published.last?.status.name != "refunded")
    #expect(world.terminal.booked.values.reduce(0, +) == 350)
  }

  @Test(arguments: modes)
  func aTerminalWithAnotherCurrencySellsNothing(mode: DeviceSettings.Mode) throws {
    var world = try world(mode)
    // Some terminals name their currency only in the result of a payment.
    world.terminal.habits.currency = 826
    try world.send(request(17))
    for _ in 0..<3 { try world.wait() }
    #expect(world.published.last?.status.name == "released")
    #expect(world.published.last?.reason == "wrong currency")
    #expect(world.status == .fault("wrong currency 826"))
    #expect(world.terminal.holds.isEmpty && world.terminal.booked.isEmpty)
    let count = world.published.count
    try world.send(request(18))
    #expect(world.published.count == count)
  }

  private func worldThatCancelsTheLastPayment() throws -> World {
    var settings = DeviceSettings()
    (settings.mode, settings.reversal) = (.goodsFirst, .last)
    var world = World(settings, .init(booksOnSilence: true))
    try world.start()
    return world
  }

  /// Another customer pays between the request for the refund and its command.
  @Test func aRefundThatIsNoLongerOfTheLastPaymentIsNotSent() throws {
    var world = try worldThatCancelsTheLastPayment()
    try pay(&world, 17)
    try world.send(request(18))
    try world.send(.refund(charge: 17))
    try world.send(.capture(charge: 18, amount: 350))
    for _ in 0..<3 { try world.wait() }
    let answer = world.published.last { $0.charge == 17 }
    #expect(answer?.status.name == "captured")
    #expect(answer?.reason == "the terminal cancels only its last payment")
    #expect(world.terminal.booked.count == 2)
  }

  /// The terminal has completed the payment of charge 17 early, so its release is a reversal.
  @Test(arguments: [true, false])
  func aReleaseByReversalIsOfTheLastPaymentOnly(isLast: Bool) throws {
    var world = try worldThatCancelsTheLastPayment()
    try world.send(request(17))
    try world.reconnect()
    #expect(world.published.last?.status.name == "held")
    if !isLast { try pay(&world, 18) }
    try world.send(.release(charge: 17))
    for _ in 0..<3 { try world.wait() }
    let answer = world.published.last { $0.charge == 17 }
    #expect(answer?.status.name == (isLast ? "released" : "unknown"))
    if !isLast { #expect(answer?.reason == "the terminal cancels only its last payment") }
    #expect(world.terminal.booked.count == (isLast ? 0 : 2))
  }

  // MARK: Which day

  /// The receipt number of the earlier payment is that of another customer's payment now.
  @Test(arguments: modes)
  func noRefundOfAPaymentBeforeAnEndOfDayOfTheTerminal(mode: DeviceSettings.Mode) throws {
    var world = try world(mode)
    try pay(&world, 17)
    world.terminal.closeDay()
    for charge in 18...20 { try pay(&world, charge, 420) }
    let booked = world.terminal.booked
    try world.send(.refund(charge: 17))
    try world.wait()
    #expect(world.published.last?.status.name == "captured")
    #expect(world.published.last?.reason == "before an end of day of the terminal")
    #expect(world.terminal.booked == booked)
    // Also after a restart.
    try world.start()
    try world.send(.refund(charge: 17))
    #expect(world.terminal.booked == booked)
    try world.send(.refund(charge: 20))
    try world.wait()
    #expect(world.published.last?.status.name == "refunded")
  }

  /// No payment has shown yet that the receipt numbers begin anew.
  @Test(arguments: modes)
  func aReversalThatTheTerminalRefusesIsNoRefund(mode: DeviceSettings.Mode) throws {
    var world = try world(mode)
    try pay(&world, 17)
    world.terminal.closeDay()
    try world.send(.refund(charge: 17))
    for _ in 0..<3 { try world.wait() }
    #expect(world.published.last?.status.name != "refunded")
    #expect(world.published.last?.reason != nil)
  }

  /// Another program has used the receipt number again, for another amount.
  @Test(arguments: modes)
  func theReversalOfAnotherAmountIsNoRefund(mode: DeviceSettings.Mode) throws {
    var world = try world(mode)
    try pay(&world, 17)
    world.terminal.closeDay()
    var other = try self.world(mode)
    other.terminal = world.terminal
    for charge in 1...3 { try pay(&other, charge, 420) }
    world.terminal = other.terminal
    try world.send(.refund(charge: 17))
    for _ in 0..<3 { try world.wait() }
    #expect(world.published.last?.status.name == "unknown")
    if mode == .goodsFirst {
      #expect(world.published.last?.reason == "the terminal has returned 420")
    }
  }

  /// After an end of day, another program has used the receipt number again, for the same amount.
  private func worldOfANewDay() throws -> World {
    var world = try world(.goodsFirst)
    for charge in 17...19 { try pay(&world, charge) }
    world.terminal.closeDay()
    var other = try self.world(.goodsFirst)
    other.terminal = world.terminal
    for charge in 1...2 { try pay(&other, charge) }
    world.terminal = other.terminal
    return world
  }

  @Test func theReversalInAnUnnoticedNewDayIsNoRefund() throws {
    var world = try worldOfANewDay()
    try world.send(.refund(charge: 17))
    for _ in 0..<3 { try world.wait() }
    #expect(world.published.last?.status.name == "unknown")
    #expect(
      world.published.last?.reason
        == "another payment, of a new day, may have been returned")
  }

  @Test func aRepeatedResultShowsTheNewDay() throws {
    var world = try worldOfANewDay()
    let booked = world.terminal.booked
    try world.reconnect()
    try world.send(.refund(charge: 17))
    for _ in 0..<3 { try world.wait() }
    #expect(world.published.last?.reason == "before an end of day of the terminal")
    #expect(world.terminal.booked == booked)
  }

  @Test(arguments: modes)
  func anEndOfDayOfTheTerminalIsNoDifference(mode: DeviceSettings.Mode) throws {
    var world = try world(mode)
    try pay(&world, 17)
    world.terminal.closeDay()
    try pay(&world, 18, 420)
    try world.endDay()
    for _ in 0..<3 { try world.wait() }
    let total = try #require(world.totals.last)
    #expect(total.captured.units == 770)
    #expect(total.terminalNet == nil && !total.isDifferent)
    // The next day is compared again.
    try pay(&world, 19)
    try world.endDay()
    for _ in 0..<3 { try world.wait() }
    #expect(world.totals.last?.terminalNet == 350)
  }

  @Test func theJournalRemembersEndsOfDay() throws {
    var journal = ChargeJournal()
    var record = ChargeRecord(
      ChargeRequest(charge: 3, amount: Money(units: 350, .euro)), .goodsFirst)
    (record.receipt, record.moment, record.closings) = (7, "1128235959", 2)
    let entries: [ChargeJournal.Entry] = [.closed, .closing(1), .charge(record)]
    for entry in entries { journal.apply(entry) }
    var again = ChargeJournal()
    for entry in journal.shortened {
      let line = entry.line(at: Timestamp(milliseconds: 0))
      again.apply(try #require(ChargeJournal.Entry(line: line)))
    }
    #expect(again.day == journal.day)
    #expect(again.day.closings == 1 && again.day.isSplit)
    #expect(again.records == journal.records)
    #expect(again.shortened == journal.shortened)
  }

  // MARK: A restored kiosk

  @Test func theDevicePublishesAllThatItHoldsBeforeItSaysSo() throws {
    var world = try world(.reservation)
    for charge in 17...18 {
      try world.send(request(charge))
      try world.wait()
    }
    world.published = []
    try world.send(.open(epoch: 7))
    #expect(world.published.map(\.charge) == [17, 18] && world.inventories == [7])
    // The result of a capture is lost, so the device does not know what it holds.
    world.sendWithoutAnswer([.capture(charge: 17, amount: 350)])
    world.published = []
    for case .publish(let answer) in world.device.disconnected(at: world.now) {
      world.published.append(answer)
    }
    try world.send(.open(epoch: 8))
    #expect(world.published.isEmpty && world.inventories == [7])
    try world.start()
    try world.send(.open(epoch: 8))
    #expect(world.published.last?.charge == 18 && world.inventories == [7, 8])
  }

  @Test(arguments: modes)
  func anEndOfDayWithAFailedResultIsMadeAgain(mode: DeviceSettings.Mode) throws {
    var world = try world(mode, .init(failsEndOfDay: true))
    try pay(&world, 17)
    try world.endDay()
    for _ in 0..<3 { try world.wait() }
    #expect(world.terminal.days == 1 && world.totals.isEmpty)
    world.terminal.habits.failsEndOfDay = false
    world.now += .seconds(1800)
    try world.wait()
    #expect(world.terminal.days == 2)
    #expect(world.totals.last?.captured.units == 350)
  }

  // MARK: Completions with a failed result

  @Test(arguments: modes)
  func anEndOfDayWithAFailedCompletionIsMadeAgain(mode: DeviceSettings.Mode) throws {
    var world = try world(mode)
    try pay(&world, 17)
    world.terminal.habits.failsInCompletion = 0x6C
    try world.endDay()
    for _ in 0..<3 { try world.wait() }
    #expect(world.terminal.days == 1 && world.totals.isEmpty)
    world.terminal.habits.failsInCompletion = nil
    world.now += .seconds(1800)
    try world.wait()
    #expect(world.terminal.days == 2)
    #expect(world.totals.last?.captured.units == 350)
  }

  @Test(arguments: modes)
  func aRefundWithAFailedCompletionIsNotRefunded(mode: DeviceSettings.Mode) throws {
    var world = try world(mode)
    try pay(&world, 17)
    world.terminal.habits.failsInCompletion = 0x6C
    try world.send(.refund(charge: 17))
    for _ in 0..<3 { try world.wait() }
    let names = world.published.map(\.status.name)
    #expect(!names.contains("refunded"))
    #expect(world.terminal.booked.values.reduce(0, +) == 350)
  }

  @Test(arguments: modes)
  func aCaptureWithAFailedCompletionIsNotCaptured(mode: DeviceSettings.Mode) throws {
    var world = try world(mode, .init(paymentEnd: .failedInCompletion))
    try world.send(request(17))
    try world.wait()
    #expect(world.published.last?.status.name == "held")
    world.terminal.habits.failsInCompletion = 0x6C
    try world.send(.capture(charge: 17, amount: 350))
    for _ in 0..<3 { try world.wait() }
    let names = world.published.map(\.status.name)
    #expect(!names.contains("captured"))
    #expect(world.terminal.booked.isEmpty)
  }

  @Test func aReleaseWithAFailedCompletionIsNotReleased() throws {
    var world = try world(.reservation)
    try world.send(request(17))
    try world.wait()
    world.terminal.habits.failsInCompletion = 0x6C
    try world.send(.release(charge: 17))
    for _ in 0..<3 { try world.wait() }
    let names = world.published.map(\.status.name)
    #expect(!names.contains("released"))
    #expect(world.terminal.holds.count == 1)
  }

  /// The hold is gone, and the terminal says so in the completion.
  @Test func aReleaseThatIsCompletedAsAlreadyReversedIsReleased() throws {
    var world = try world(.reservation)
    try world.send(request(17))
    try world.wait()
    world.terminal.habits.failsInCompletion = 0xB4
    try world.send(.release(charge: 17))
    for _ in 0..<3 { try world.wait() }
    #expect(world.published.last?.status.name == "released")
  }

  /// The status reports success, and the completion a failure: the device asks which is right.
  @Test(arguments: [true, false])
  func aReservationWithAFailedCompletionIsAskedAbout(isHeld: Bool) throws {
    var world = try world(
      .reservation, .init(holdEnd: isHeld ? .failedWithHold : .failedWithoutHold))
    try world.send(request(17))
    for _ in 0..<3 { try world.wait() }
    #expect(world.published.last?.status.name == (isHeld ? "held" : "declined"))
    #expect(world.published.last?.reason == (isHeld ? nil : "cancelled"))
    #expect(world.terminal.holds.count == (isHeld ? 1 : 0))
  }

  /// The terminal neither aborts the command nor repeats its last result.
  @Test(arguments: modes)
  func aDeclineThatIsCompletedHasAReason(mode: DeviceSettings.Mode) throws {
    var world = try world(mode, .init(repeats: false, declines: 0x71))
    try world.send(request(17))
    for _ in 0..<3 { try world.wait() }
    #expect(world.published.last?.status.name == "declined")
    #expect(world.published.last?.reason == "not enough credit")
  }

  // MARK: Pace

  /// The terminal asks again as soon as it has an answer, ten times.
  @Test func theDeviceSetsThePaceOfTheQuestions() throws {
    var world = try world(.goodsFirst, .init(questions: 10))
    try world.send(request(17, readySeconds: 19))
    #expect(world.published.last?.status.name == "held")
    while world.now < .seconds(19) {
      world.now = min(try #require(world.device.deadline), .seconds(19))
      try world.tick()
    }
    #expect(world.terminal.isAsking)
    try world.send(.capture(charge: 17, amount: 350))
    #expect(world.published.last?.status.name == "captured")
    #expect(Array(world.terminal.booked.values) == [350])
  }

  @Test func aMachineThatIsSlowerThanTheQuestionsIsNotStarted() throws {
    var world = try world(.goodsFirst, .init(questions: 10))
    try world.send(request(17, readySeconds: 20))
    #expect(world.published.last?.status.name == "declined")
    #expect(world.published.last?.reason == "the machine is slower than the terminal waits")
    #expect(world.terminal.moves == 0 && !world.terminal.isAsking)
  }

  /// The terminal has waited for a shorter time than the settings say: the next charge is a reservation.
  @Test func aTerminalThatWaitsForLessThanItShouldGetsReservations() throws {
    var world = try world(.auto, .init(questions: 3))
    try world.send(request(17, readySeconds: 15))
    for _ in 0..<12 where world.terminal.isAsking {
      world.now = try #require(world.device.deadline)
      try world.tick()
    }
    for _ in 0..<3 { try world.wait() }
    #expect(world.terminal.moves == 0)
    try world.send(request(18, readySeconds: 15))
    #expect(world.device.journal.records[18]?.method == .reservation)
  }

  /// The terminal ends a payment whose goods the device has said to be made. It has waited.
  @Test func anAbortAfterTheGoodsIsNoShorterPatience() throws {
    var world = try world(.goodsFirst, .init(paymentEnd: .aborted))
    try world.send(request(17, readySeconds: 15))
    try world.wait()
    try world.send(.capture(charge: 17, amount: 350))
    for _ in 0..<3 { try world.wait() }
    #expect(world.terminal.moves == 0)
    try world.send(request(18, readySeconds: 15))
    #expect(world.published.last?.charge == 18)
    #expect(world.published.last?.status.name == "held")
  }

  /// The terminal completes the command, and its status has a failed result.
  @Test func aFailedPaymentOfGoodsThatAreMadeIsNotCaptured() throws {
    var world = try world(.goodsFirst, .init(paymentEnd: .failed))
    try world.send(request(17, readySeconds: 15))
    try world.send(.capture(charge: 17, amount: 350))
    for _ in 0..<3 { try world.wait() }
    #expect(world.terminal.moves == 0 && !world.terminal.isAsking)
    #expect(!world.published.contains { $0.status.name == "captured" })
    #expect(world.device.journal.day.captured == 0)
  }

  /// The terminal may be another one, or have other settings.
  @Test func aTerminalThatConnectsAgainIsMeasuredAnew() throws {
    var world = try world(.goodsFirst, .init(questions: 3))
    try world.send(request(17, readySeconds: 15))
    for _ in 0..<12 where world.terminal.isAsking {
      world.now = try #require(world.device.deadline)
      try world.tick()
    }
    for _ in 0..<3 { try world.wait() }
    try world.send(request(18, readySeconds: 15))
    #expect(world.published.last?.status.name == "declined")
    try world.reconnect()
    try world.send(request(19, readySeconds: 15))
    #expect(world.published.last?.charge == 19)
    #expect(world.published.last?.status.name == "held")
  }

  @Test func aBusyTerminalIsAFault() throws {
    var world = try world(.reservation)
    world.terminal.habits.isBusy = true
    for _ in 0..<200 where world.status != .fault("busy") {
      world.now = try #require(world.device.deadline)
      try world.tick()
    }
    #expect(world.status == .fault("busy"))
    #expect(world.now >= .seconds(60))
    world.terminal.habits.isBusy = false
    for _ in 0..<5 {
      world.now = try #require(world.device.deadline)
      try world.tick()
    }
    #expect(world.status == .online)
  }

  @Test func aPromptWithoutAnEndIsAFault() throws {
    var world = try world(.reservation, .init(hasCustomer: false, ignoresAborts: true))
    try world.send(request(17))
    for _ in 0..<400 where world.status != .fault("busy") {
      world.now = try #require(world.device.deadline)
      try world.tick()
    }
    #expect(world.status == .fault("busy"))
  }
}
