import Devices
import JuiceDomain
import KioskProtocol
import Ledger
import MessageBroker
import Testing

@testable import KioskCore

/// Times without power, with a hardware clock and without one: fruit that has expired or may have
/// been warm is not sold, and the owner's table in `food-safety.md` is true.
@Suite struct OutageTests {
  private let hour = Duration.seconds(3_600)

  /// Returns a kiosk whose kiwis keep for 72 hours and lie in a fridge with a limit of 7 °C.
  private func kiosk(hasSensor: Bool = true, keeps: Int? = 72) throws -> TestKiosk {
    let fruits = Menu.standard.fruits.map { fruit in
      Fruit(id: fruit.id, name: fruit.name, keepsHours: fruit.id == "kiwi" ? keeps : nil)
    }
    var settings = KioskSettings.test(
      menu: try Menu(fruits: fruits, juices: Menu.standard.juices))
    if hasSensor {
      settings.sensors = [
        KioskSettings.Sensor(
          name: "fridge", binding: SensorBinding(topic: "t/fridge"), unit: .celsius, maximum: 7000,
          blockAfter: .seconds(3_600), fruits: ["kiwi", "mango"])
      ]
    }
    let kiosk = try TestKiosk(settings: settings)
    if hasSensor { try kiosk.receive(.reading(4)) }
    return kiosk
  }

  private func state(of kiosk: TestKiosk) -> SensorReport.State? {
    kiosk.core.sensors.reports.first { $0.sensor == "fridge" }?.report.state
  }

  private func answer(_ kiosk: TestKiosk, _ juice: String) throws -> String {
    let decision = try kiosk.receive(.order(juice))
    return try decision.reasons[0]?.rawValue ?? decision.statuses[0].rawValue
  }

  // MARK: The owner's table

  /// The answers to an order of kiwi (72 hours) and of mango (no date), each after the start, after
  /// the first reading of 4 °C, and after the time of the network.
  @Test(arguments: [
    (1, true, true, "ready ready, ready ready, ready ready"),
    (5, true, true, "blocked blocked, blocked blocked, blocked blocked"),
    (14, true, true, "blocked blocked, blocked blocked, blocked blocked"),
    (72, true, true, "blocked blocked, blocked blocked, blocked blocked"),
    (1, true, false, "ready ready, ready ready, ready ready"),
    (5, true, false, "ready ready, ready ready, ready ready"),
    (14, true, false, "ready ready, ready ready, ready ready"),
    (72, true, false, "out_of_stock ready, out_of_stock ready, out_of_stock ready"),
    (1, false, true, "blocked blocked, blocked blocked, ready ready"),
    (5, false, true, "blocked blocked, blocked blocked, blocked blocked"),
    (14, false, true, "blocked blocked, blocked blocked, blocked blocked"),
    (72, false, true, "blocked blocked, blocked blocked, blocked blocked"),
    (1, false, false, "blocked ready, blocked ready, ready ready"),
    (5, false, false, "blocked ready, blocked ready, ready ready"),
    (14, false, false, "blocked ready, blocked ready, ready ready"),
    (72, false, false, "blocked ready, blocked ready, out_of_stock ready"),
  ])
  func theOwnersTableIsTrue(
    hours: Int, hasClock: Bool, hasSensor: Bool, expected: String
  ) throws {
    let kiosk = try kiosk(hasSensor: hasSensor)
    try kiosk.receive()
    try kiosk.cutPower(for: hour * hours - .seconds(60), hasClock: hasClock)
    kiosk.pass(.seconds(60))
    var answers = [try answer(kiosk, "kiwi") + " " + answer(kiosk, "mango")]
    if hasSensor { try kiosk.receive(.reading(4)) }
    answers.append(try answer(kiosk, "kiwi") + " " + answer(kiosk, "mango"))
    if !hasClock { kiosk.receiveNetworkTime() }
    try kiosk.receive()
    answers.append(try answer(kiosk, "kiwi") + " " + answer(kiosk, "mango"))
    #expect(answers.joined(separator: ", ") == expected)
    try kiosk.ledger.verify()
  }

  // MARK: Clocks

  /// The clock stands still for 14 hours, and the time of the network arrives at any time after the
  /// start: also after the hour in which the kiosk used to expect it.
  @Test(arguments: [0, 30, 72, 500])
  func aClockThatStoodStillSellsNothingAfterItsDate(minutes: Int) throws {
    let kiosk = try kiosk(hasSensor: false, keeps: nil)
    try kiosk.receive(
      .restock(#"{"add":{"kiwi":5},"best_before":{"kiwi":"2026-11-21T19:00:00Z"}}"#))
    kiosk.pass(hour)
    try kiosk.receive()
    try kiosk.cutPower(for: hour * 14, hasClock: false)
    kiosk.pass(.seconds(minutes * 60))
    #expect(try answer(kiosk, "kiwi") == "blocked")
    #expect(try answer(kiosk, "banana") == "ready")
    kiosk.receiveNetworkTime()
    kiosk.updateClock()
    #expect(kiosk.core.wait(at: kiosk.now) == .zero)
    try kiosk.receive()
    #expect(kiosk.core.batches.expiredAmounts == ["kiwi": 5])
    try kiosk.ledger.verify()
  }

  /// The clock is right again before fruit expires: its age includes the time without power.
  @Test func aStandstillCountsAsAgeWheneverItsLengthIsKnown() throws {
    let kiosk = try kiosk(hasSensor: false)
    try kiosk.receive()
    kiosk.pass(hour)
    try kiosk.receive(.order("banana"))
    try kiosk.cutPower(for: hour * 14, hasClock: false)
    kiosk.pass(hour * 5)
    try kiosk.receive()
    try kiosk.restart()
    kiosk.pass(hour * 5)
    kiosk.receiveNetworkTime()
    try kiosk.receive()
    #expect(try answer(kiosk, "kiwi") == "ready")
    kiosk.pass(hour * 47 - .seconds(1))
    #expect(try answer(kiosk, "kiwi") == "ready")
    kiosk.pass(.seconds(1))
    try kiosk.receive()
    #expect(kiosk.core.batches.expiredAmounts == ["kiwi": 4])
  }

  /// A person reads the time from a watch, and finds that the kiosk shows the same.
  @Test(arguments: ["release", "discard"])
  func aPersonEndsTheDoubt(choice: String) throws {
    let kiosk = try kiosk(hasSensor: false)
    try kiosk.receive()
    try kiosk.cutPower(for: hour, hasClock: false)
    let start = try kiosk.receive()
    #expect(start.sensorSteps == ["sensor_blocked clock kiwi"])
    #expect(kiosk.settings.commandKinds.contains(.job))
    let report = try #require(kiosk.core.sensors.reports.first)
    #expect(report.sensor == .clock && report.report.state == .blocked && !report.report.isSilent)
    let decision = try kiosk.receive(
      .message(
        #"{"sensor":"clock","decision":"\#(choice)","word":"it is 9:00"}"#, on: "job/anna"))
    #expect(try decision.statuses == [.applied])
    try kiosk.receive()
    #expect(try answer(kiosk, "kiwi") == (choice == "release" ? "ready" : "out_of_stock"))
    try kiosk.restart()
    try kiosk.receive(.restock(#"{"add":{"kiwi":5}}"#))
    #expect(try answer(kiosk, "kiwi") == "ready")
    // The time of the network still ages the stock of before the start.
    kiosk.receiveNetworkTime()
    kiosk.pass(hour * 71)
    try kiosk.receive()
    #expect(kiosk.core.batches.expiredAmounts["kiwi"] == (choice == "release" ? 4 : nil))
    try kiosk.ledger.verify()
  }

  /// The age of fruit that a person brings while the clock is in doubt is known.
  @Test func fruitThatIsBroughtAfterTheStartIsSold() throws {
    let kiosk = try kiosk(hasSensor: false)
    try kiosk.receive()
    try kiosk.receive(.restock(#"{"set":{"kiwi":0}}"#))
    try kiosk.cutPower(for: hour * 14, hasClock: false)
    try kiosk.receive(.restock(#"{"add":{"kiwi":5}}"#))
    #expect(try answer(kiosk, "kiwi") == "ready")
    kiosk.pass(hour * 2)
    kiosk.receiveNetworkTime()
    kiosk.pass(hour * 70 - .seconds(1))
    #expect(try answer(kiosk, "banana") == "ready")
    #expect(kiosk.core.batches.expiredAmounts.isEmpty)
    kiosk.pass(.seconds(1))
    try kiosk.receive()
    #expect(kiosk.core.batches.expiredAmounts == ["kiwi": 2])
  }

  /// A new kiosk, before the first time of the network. By its clock the fruit keeps for two days.
  @Test func aDateIsNotComparedWithAClockThatNothingConfirms() throws {
    let kiosk = try TestKiosk(settings: .test())
    kiosk.setClock(ahead: -48 * 3_600)
    kiosk.losesItsClock()
    try kiosk.restart()
    let brought = try kiosk.receive(
      .restock(#"{"add":{"kiwi":5},"best_before":{"kiwi":"2026-11-21T09:00:10Z"}}"#),
      .order("kiwi"), .order("banana"))
    #expect(brought.sensorSteps == ["sensor_blocked clock kiwi"])
    #expect(try brought.reasons == [nil, .blocked, nil])
    try kiosk.restart()
    #expect(try answer(kiosk, "kiwi") == "blocked")
    kiosk.pass(.seconds(10))
    kiosk.receiveNetworkTime()
    kiosk.setClock(ahead: 48 * 3_600)
    let step = try kiosk.receive()
    #expect(kiosk.core.batches.expiredAmounts == ["kiwi": 5])
    #expect(step.sensorSteps == ["sensor_ok clock"])
    #expect(try answer(kiosk, "kiwi") == "ready")
  }

  /// The clock begins in 1970 after each start. The time of the network shows how long the computer
  /// was off, and not since 1970.
  @Test func aClockThatBeginsAnewIsNoAge() throws {
    let kiosk = try kiosk()
    for hours in [1, 2] {
      kiosk.pass(.seconds(60))
      try kiosk.receive(.reading(4))
      try kiosk.cutPower(for: .seconds(1_800), hasClock: false)
      let behind = kiosk.now.timestamp.milliseconds / 1_000
      kiosk.setClock(ahead: -behind)
      try kiosk.restart()
      try kiosk.receive(.reading(4))
      #expect(try answer(kiosk, "kiwi") == "blocked" && answer(kiosk, "mango") == "blocked")
      kiosk.pass(.seconds(60))
      kiosk.setClock(ahead: behind)
      kiosk.receiveNetworkTime()
      let step = try kiosk.receive()
      #expect(step.sensorSteps.contains("sensor_ok fridge"), "\(hours)")
      #expect(try answer(kiosk, "mango") == "ready")
    }
    #expect(kiosk.core.batches.expiredAmounts.isEmpty && kiosk.core.batches.clockBehind == 0)
    kiosk.pass(hour * 72 - .seconds(3_600 + 240 + 1))
    try kiosk.receive(.reading(4))
    #expect(kiosk.core.batches.expiredAmounts.isEmpty)
    kiosk.pass(.seconds(1))
    try kiosk.receive()
    #expect(kiosk.core.batches.expiredAmounts == ["kiwi": 10])
  }

  /// The process ends, and the computer runs on: the monotonic clock measures the time, whatever
  /// the wall clock shows.
  @Test(arguments: [0, -86_400, 86_400])
  func aRestartOfTheKioskAloneIsNoDoubt(step: Int64) throws {
    let kiosk = try kiosk(hasSensor: false)
    try kiosk.receive()
    try kiosk.cutPower(for: .zero, hasClock: false)
    kiosk.receiveNetworkTime()
    try kiosk.receive(.restock(#"{"set":{"kiwi":0}}"#))
    try kiosk.receive(.restock(#"{"add":{"kiwi":5}}"#))
    kiosk.pass(hour * 71)
    kiosk.setClock(ahead: step)
    try kiosk.restart()
    #expect(try answer(kiosk, "kiwi") == "ready")
    kiosk.pass(hour)
    try kiosk.receive()
    #expect(kiosk.core.batches.expiredAmounts == ["kiwi": 2])
  }

  /// The clock of a new kiosk is two days behind at the restock, before the time of the network.
  @Test(arguments: [false, true])
  func aDateOnAPackageDoesNotMoveWithTheClock(restarts: Bool) throws {
    let kiosk = try kiosk(hasSensor: false, keeps: nil)
    try kiosk.receive(
      .restock(#"{"add":{"kiwi":5},"best_before":{"kiwi":"2026-11-24T09:00:00Z"}}"#))
    kiosk.pass(.seconds(720))
    kiosk.setClock(ahead: 48 * 3_600)
    try kiosk.receive()
    if restarts { try kiosk.restart() }
    #expect(kiosk.core.batches.nextExpiries["kiwi"] == Timestamp("2026-11-24T09:00:00Z"))
    kiosk.pass(hour * 24 - .seconds(721))
    try kiosk.receive()
    #expect(kiosk.core.batches.expiredAmounts.isEmpty)
    kiosk.pass(.seconds(1))
    try kiosk.receive()
    #expect(kiosk.core.batches.expiredAmounts == ["kiwi": 5])
  }

  @Test(arguments: [("2026-11-22T09:00:00Z", 24), ("2026-12-24T09:00:00Z", 72)])
  func ofAnAgeAndADateTheEarlierCounts(date: String, hours: Int) throws {
    let kiosk = try kiosk(hasSensor: false)
    try kiosk.receive(.restock(#"{"set":{"kiwi":0}}"#))
    try kiosk.receive(.restock(#"{"add":{"kiwi":5},"best_before":{"kiwi":"\#(date)"}}"#))
    kiosk.pass(hour * hours - .seconds(1))
    try kiosk.receive()
    #expect(kiosk.core.batches.expiredAmounts.isEmpty)
    kiosk.pass(.seconds(1))
    try kiosk.receive()
    #expect(kiosk.core.batches.expiredAmounts == ["kiwi": 5])
  }

  // MARK: Sensors

  /// The fridge was without power for ten hours, and its thermometer shows 19 °C.
  @Test func aGapThatEndsOutsideCountsAsOutside() throws {
    let kiosk = try kiosk()
    kiosk.pass(.seconds(60))
    try kiosk.receive(.reading(4))
    try kiosk.cutPower(for: hour * 10, hasClock: true)
    #expect(try kiosk.receive(.order("kiwi")).sensorSteps == ["sensor_blocked fridge kiwi mango"])
    let reading = try kiosk.receive(.reading(19))
    #expect(reading.sensorSteps == ["sensor_gap fridge"])
    #expect(reading.gaps == [36_060])
    #expect(reading.secondsOutside == [36_060])
    for _ in 0..<300 {
      kiosk.pass(.seconds(60))
      try kiosk.receive(.reading(4))
    }
    #expect(state(of: kiosk) == .blocked)
    #expect(try answer(kiosk, "kiwi") == "blocked")
    let day = try kiosk.ledger.safety(
      on: CivilDate(daysSinceEpoch: 20_778), id: "r", kiosk.settings)
    #expect(day.entries.contains { $0.status == .sensorGap })
    #expect(try SafetyDay(payload: day.payload) == day)
  }

  /// The computer was off for longer than `blockAfter`, but not for as long as a silent sensor.
  @Test func aGapIsNotMeasuredToo() throws {
    let kiosk = try kiosk()
    var settings = kiosk.settings
    settings.sensors[0].blockAfter = hour / 2
    settings.sensors[0].silentAfter = hour * 2
    try kiosk.reload(settings)
    try kiosk.cutPower(for: hour / 4 * 3, hasClock: true)
    #expect(try kiosk.receive(.reading(19)).secondsOutside == [2_700])
    let day = try kiosk.ledger.safety(
      on: CivilDate(daysSinceEpoch: 20_778), id: "r", kiosk.settings)
    #expect(day.sensors[0].secondsMeasured == 0)
  }

  /// The sensor is silent while the kiosk runs.
  @Test func aSilenceBlocksAndItsEndOutsideIsNoOk() throws {
    let kiosk = try kiosk()
    kiosk.pass(hour)
    #expect(try kiosk.receive().sensorSteps == ["sensor_silent fridge"])
    kiosk.pass(hour)
    #expect(try answer(kiosk, "mango") == "ready")
    kiosk.pass(.milliseconds(1))
    #expect(kiosk.core.sensors.wait(at: kiosk.now) == .zero)
    #expect(try kiosk.receive().sensorSteps == ["sensor_blocked fridge kiwi mango"])
    #expect(try answer(kiosk, "mango") == "blocked")
    #expect(try kiosk.receive(.reading(15)).sensorSteps == ["sensor_gap fridge"])
    #expect(state(of: kiosk) == .blocked)
    kiosk.pass(.seconds(60))
    #expect(try kiosk.receive(.reading(4)).sensorSteps.isEmpty)
    #expect(state(of: kiosk) == .blocked)
  }

  @Test func aSilenceThatEndsWithinTheLimitsEndsItsBlock() throws {
    let kiosk = try kiosk()
    kiosk.pass(hour * 3)
    try kiosk.receive()
    #expect(try answer(kiosk, "mango") == "blocked")
    let reading = try kiosk.receive(.reading(4))
    #expect(reading.sensorSteps == ["sensor_gap fridge", "sensor_ok fridge"])
    #expect(reading.secondsOutside == [0])
    #expect(try answer(kiosk, "mango") == "ready")
  }

  /// A short silence that ends outside has been outside all the time, for all that is known.
  @Test func aSilenceCountsTowardsTheTimeOutside() throws {
    let kiosk = try kiosk()
    kiosk.pass(hour)
    try kiosk.receive()
    #expect(
      try kiosk.receive(.reading(15)).sensorSteps
        == ["sensor_gap fridge", "sensor_blocked fridge kiwi mango"])
  }

  /// A sensor that is new, and never sends anything.
  @Test func aSensorThatHasNeverSentAnythingBlocks() throws {
    let kiosk = try kiosk(hasSensor: false)
    try kiosk.receive()
    try kiosk.reload(try self.kiosk().settings)
    try kiosk.receive()
    #expect(try answer(kiosk, "mango") == "ready")
    kiosk.pass(hour * 2 + .milliseconds(1))
    try kiosk.receive()
    #expect(try answer(kiosk, "mango") == "blocked")
    try kiosk.receive(.reading(4))
    #expect(try answer(kiosk, "mango") == "ready")
  }

  /// Each process ends before its sensor has been without a reading for too long.
  @Test func aRestartGivesASensorThatHasNeverSentAnythingNoMoreTime() throws {
    let kiosk = try kiosk(hasSensor: false)
    try kiosk.receive()
    try kiosk.reload(try self.kiosk().settings)
    try kiosk.receive()
    for _ in 0..<2 {
      kiosk.pass(hour)
      try kiosk.restart()
      #expect(try answer(kiosk, "mango") == "ready")
    }
    kiosk.pass(.milliseconds(1))
    #expect(try answer(kiosk, "mango") == "blocked")
    try kiosk.receive(.reading(4))
    #expect(try answer(kiosk, "mango") == "ready")
  }

  /// Without a hardware clock, the time of the network decides also for sensors.
  @Test(arguments: [(30, "ready"), (600, "blocked")])
  func theNetworksTimeDecidesAboutAGap(minutes: Int, expected: String) throws {
    let kiosk = try kiosk()
    try kiosk.cutPower(for: .seconds(minutes * 60), hasClock: false)
    try kiosk.receive()
    let reading = try kiosk.receive(.reading(19))
    #expect(reading.sensorSteps == ["sensor_gap fridge"])
    kiosk.pass(.seconds(600))
    try kiosk.receive(.reading(4))
    #expect(try answer(kiosk, "mango") == "blocked")
    kiosk.receiveNetworkTime()
    kiosk.updateClock()
    #expect(kiosk.core.wait(at: kiosk.now) == .zero)
    try kiosk.receive()
    #expect(try answer(kiosk, "mango") == expected)
  }

  /// A kiosk that restarts while it waits for a reading has not had one.
  @Test func aRestartKeepsTheGap() throws {
    let kiosk = try kiosk()
    try kiosk.cutPower(for: hour * 10, hasClock: true)
    try kiosk.receive()
    try kiosk.restart()
    try kiosk.receive(.reading(4))
    try kiosk.restart()
    kiosk.pass(.seconds(60))
    try kiosk.receive(.reading(4))
    #expect(try answer(kiosk, "mango") == "blocked")
    try kiosk.receive(
      .message(#"{"sensor":"fridge","decision":"release","word":"cold"}"#, on: "job/anna"))
    #expect(try answer(kiosk, "mango") == "ready")
    kiosk.pass(.seconds(60))
    try kiosk.receive(.reading(4))
    #expect(state(of: kiosk) == .ok)
  }

  /// The gap of two hours ends at 13 °C, the kiosk restarts, and the fridge is cold again.
  @Test func theReadingThatEndsAGapOutlivesARestart() throws {
    let kiosk = try kiosk()
    try kiosk.cutPower(for: hour * 2, hasClock: false)
    try kiosk.receive(.order("banana"))
    try kiosk.receive(.reading(13))
    try kiosk.restart()
    try kiosk.receive(.reading(4))
    kiosk.receiveNetworkTime()
    try kiosk.receive()
    #expect(try answer(kiosk, "mango") == "blocked")
  }

  /// The gap of two hours ends at 13 °C, the fridge is cold again, and then the settings or the ledger
  /// are read again.
  @Test(arguments: [false, true]) func aReloadKeepsTheReadingThatEndsAGap(recovers: Bool) throws {
    let kiosk = try kiosk()
    try kiosk.cutPower(for: hour * 2, hasClock: false)
    try kiosk.receive(.order("banana"))
    try kiosk.receive(.reading(13))
    try kiosk.receive(.reading(4))
    if recovers { try kiosk.recover() } else { try kiosk.reload() }
    kiosk.receiveNetworkTime()
    try kiosk.receive()
    #expect(try answer(kiosk, "mango") == "blocked")
  }

  /// The gap of five hours ends at 4 °C, the time of the network makes it a decision for a person, and
  /// then the settings or the ledger are read again.
  @Test(arguments: [false, true]) func aReloadKeepsADecisionForAPerson(recovers: Bool) throws {
    let kiosk = try kiosk()
    try kiosk.cutPower(for: hour * 5, hasClock: false)
    try kiosk.receive()
    try kiosk.receive(.reading(4))
    kiosk.receiveNetworkTime()
    try kiosk.receive()
    if recovers { try kiosk.recover() } else { try kiosk.reload() }
    kiosk.pass(.seconds(60))
    try kiosk.receive(.reading(4))
    #expect(try answer(kiosk, "mango") == "blocked")
  }

  /// A thermometer sends twice within a minute, and no other message follows.
  @Test func theLastReadingIsStoredWithinAMinute() throws {
    let kiosk = try kiosk()
    for (pause, value) in [(1_000, 4), (30, 12)] {
      kiosk.pass(.seconds(pause))
      try kiosk.receive(.reading(value))
    }
    #expect(try kiosk.ledger.state().sensors["fridge"]?.outside == nil)
    kiosk.pass(.seconds(70))
    #expect(kiosk.isDue)
    try kiosk.receive()
    #expect(try kiosk.ledger.state().sensors["fridge"]?.outside != nil)
  }

  /// A gap of five hours ends at 4 °C, its length is not known yet, and the next reading is outside.
  @Test func aLaterReadingMakesNoLongGapShort() throws {
    let kiosk = try kiosk()
    try kiosk.cutPower(for: hour * 5, hasClock: false)
    try kiosk.receive(.reading(4))
    kiosk.pass(.seconds(20))
    try kiosk.receive(.reading(9))
    kiosk.receiveNetworkTime()
    try kiosk.receive()
    try kiosk.receive(.reading(4))
    #expect(try answer(kiosk, "mango") == "blocked")
  }

  /// The network's time comes five hours after a short power cut, with readings all the time.
  @Test func readingsWhileAGapWaitsAreNoGap() throws {
    let kiosk = try kiosk()
    try kiosk.receive(.reading(4))
    try kiosk.cutPower(for: .seconds(10), hasClock: false)
    for _ in 0..<30 {
      try kiosk.receive(.reading(4))
      kiosk.pass(.seconds(600))
    }
    #expect(try answer(kiosk, "mango") == "blocked")
    kiosk.receiveNetworkTime()
    try kiosk.receive()
    for _ in 0..<3 {
      #expect(try answer(kiosk, "mango") == "ready")
      kiosk.pass(.seconds(60))
      try kiosk.receive(.reading(4))
    }
    #expect(state(of: kiosk) == .ok)
  }

  /// While the length of a gap is not known, the thermometer is silent again, and then outside.
  @Test func aSecondGapCounts() throws {
    let kiosk = try kiosk()
    try kiosk.receive(.reading(4))
    try kiosk.cutPower(for: .seconds(10), hasClock: false)
    try kiosk.receive(.reading(4))
    kiosk.pass(hour * 2)
    try kiosk.receive(.reading(13))
    try kiosk.receive(.reading(13))
    try kiosk.receive(.reading(4))
    kiosk.receiveNetworkTime()
    try kiosk.receive()
    #expect(try answer(kiosk, "mango") == "blocked")
  }

  /// Ten minutes without power, and then no reading: the limit is `block_after`, not that of a silence.
  @Test func aRestartAfterAPowerCutMakesNoGapShort() throws {
    let kiosk = try kiosk()
    try kiosk.receive(.reading(4))
    try kiosk.cutPower(for: .seconds(600), hasClock: true)
    try kiosk.receive()
    try kiosk.restart()
    kiosk.pass(hour)
    #expect(try answer(kiosk, "mango") == "blocked")
  }

  @Test func discardedFruitWaitsForAReading() throws {
    let kiosk = try kiosk()
    try kiosk.cutPower(for: hour * 10, hasClock: true)
    try kiosk.receive()
    try kiosk.receive(
      .message(#"{"sensor":"fridge","decision":"discard","word":"warm"}"#, on: "job/anna"))
    try kiosk.receive(.restock(#"{"add":{"mango":9}}"#))
    #expect(try answer(kiosk, "mango") == "blocked")
    try kiosk.receive(.reading(4))
    #expect(try answer(kiosk, "mango") == "ready")
  }
}

extension Decision {
  /// The entries about sensors without hours: their statuses, sensors and blocked fruits.
  fileprivate var sensorSteps: [String] {
    transaction.records.compactMap {
      guard case .sensor(let step) = $0.row.entry.outcome, step.kind != .hour else { return nil }
      return ([step.kind.rawValue, step.sensor.text] + step.fruits.map(\.text))
        .joined(separator: " ")
    }
  }

  /// The lengths of recorded gaps, in seconds.
  fileprivate var gaps: [Int] {
    transaction.records.compactMap {
      if case .sensor(let step) = $0.row.entry.outcome { step.gap } else { nil }
    }
  }

  /// The parts of recorded gaps that count as outside the limits, in seconds.
  fileprivate var secondsOutside: [Int] {
    transaction.records.compactMap {
      if case .sensor(let step) = $0.row.entry.outcome { step.outsideInGap } else { nil }
    }
  }
}

extension Delivery {
  fileprivate static func reading(_ value: Int) -> Delivery {
    Delivery(message: Message(topic: "t/fridge", payload: Array("\(value)".utf8)), packetID: 0)
  }
}
