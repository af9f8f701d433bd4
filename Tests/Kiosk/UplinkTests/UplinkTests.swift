import InMemoryBroker
import JuiceDomain
import KioskCore
import KioskProtocol
import Ledger
import MessageBroker
import Synchronization
import Testing

@testable import KioskDaemon

@Suite struct UplinkTests {
  private let fixture: UplinkFixture

  init() throws { fixture = try UplinkFixture() }

  @Test func whatIsRecordedGoesUp() throws {
    try fixture.record(3)
    try fixture.start()
    fixture.advance(by: .seconds(1))
    #expect(try fixture.entries == [1, 2, 3])
    try fixture.record(2)
    fixture.advance(by: .seconds(1))
    #expect(try fixture.entries == [1, 2, 3, 4, 5])
    let event = try #require(fixture.received.messages.last)
    #expect(try LedgerEntry(payload: event.payload).epoch == fixture.epoch)
    #expect(fixture.uplinkProgress.unsaved() == 5)
  }

  @Test func whoeverAsksHearsWhetherTheKioskIsThere() throws {
    try fixture.start()
    #expect(fixture.broker.retained("chain/k1/status")?.payload == Array("online".utf8))
    fixture.crash()
    #expect(fixture.broker.retained("chain/k1/status")?.payload == Array("offline".utf8))
    try fixture.start()
    try fixture.record(1)
    fixture.stop()
    #expect(fixture.broker.retained("chain/k1/status")?.payload == Array("offline".utf8))
    // The last entry was published before that.
    #expect(try fixture.entries == [1])
  }

  @Test func healthIsToldSeldom() throws {
    fixture.uplinkProgress.health = health(uptime: 1)
    try fixture.start()
    fixture.advance(by: .seconds(1))
    #expect(fixture.broker.retained("chain/k1/health")?.payload == health(uptime: 1).payload)
    fixture.uplinkProgress.health = health(uptime: 2)
    fixture.broker.cut("uplink-0")
    fixture.advance(by: .seconds(235))
    #expect(fixture.broker.retained("chain/k1/health")?.payload == health(uptime: 1).payload)
    fixture.advance(by: .seconds(10))
    #expect(fixture.broker.retained("chain/k1/health")?.payload == health(uptime: 2).payload)
  }

  /// Not the last entry, which the broker may not have received yet.
  @Test func healthHasTheLastConfirmedEntry() throws {
    try fixture.start()
    try fixture.record(2)
    fixture.advance(by: .seconds(1))
    var health = health(uptime: 1)
    health.position = LedgerPosition(epoch: 4, seq: 9)
    fixture.uplinkProgress.health = health
    fixture.advance(by: .seconds(1))
    let payload = try #require(fixture.broker.retained("chain/k1/health")?.payload)
    let position = try #require(try LedgerPosition(health: payload))
    #expect(position.seq == 2)
    let entry = try #require(try fixture.entries.last)
    #expect(entry == position.seq)
  }

  private func health(uptime: Int) -> KioskHealth {
    KioskHealth(
      at: Timestamp(milliseconds: 0), uptime: uptime, counters: .init(), memory: nil, queue: 0,
      service: .open, low: 0, out: 0, ledger: nil)
  }

  /// Tests each step at which the connection breaks, before and after its effect.
  @Test(
    arguments: [MemoryBroker.Fault.Moment.before, .after],
    [MemoryBroker.Fault.Step.connect, .publish])
  func aConnectionThatBreaksLosesNoEntry(
    moment: MemoryBroker.Fault.Moment, step: MemoryBroker.Fault.Step
  ) throws {
    try fixture.record(120)
    for skipping in [0, 7, 60] {
      fixture.broker.inject(MemoryBroker.Fault(moment, step, of: "uplink-0", skipping: skipping))
    }
    try fixture.start()
    fixture.advance(by: .seconds(60))
    #expect(Set(try fixture.entries) == Set(1...120))
    #expect(fixture.uplinkProgress.unsaved() == 120)
  }

  @Test func aBrokerThatIsAwayIsWaitedFor() throws {
    fixture.broker.stop()
    try fixture.record(12_000)
    try fixture.start()
    fixture.advance(by: .seconds(100))
    fixture.broker.start(restoring: .everything)
    fixture.advance(by: .seconds(60))
    #expect(Set(try fixture.entries) == Set(1...12_000))
  }

  /// Entries confirmed since the ledger's last record are published twice, and none is omitted.
  @Test func aCrashLosesNoEntry() throws {
    try fixture.record(50)
    try fixture.start()
    fixture.advance(by: .seconds(1))
    try fixture.record(50)
    fixture.advance(by: .seconds(1))
    fixture.crash()
    fixture.received.clear()
    #expect(try fixture.ledger.uplinked() == 50)
    try fixture.start()
    fixture.advance(by: .seconds(1))
    #expect(try fixture.entries == Array(51...100))
  }

  // MARK: Subscriptions and the client identifier

  /// A broker to which a thousand kiosks reconnect at once accepts them before it subscribes them.
  @Test(arguments: [0, 8, 3600])
  func whoeverComesBackTellsBeforeItHears(secondsAway: Int) throws {
    try fixture.start { 1 }
    fixture.advance(by: .seconds(1))
    fixture.received.clear()
    fixture.broker.refuseLogins()
    fixture.broker.cut("uplink-\(UInt32.max)")
    fixture.executor.run()
    let left = fixture.broker.now
    fixture.advance(by: .seconds(secondsAway))
    fixture.broker.refuseLogins(false)
    try fixture.record(1)
    let request = ReplayRequest(id: "r1", epoch: try fixture.epoch, range: 1...1).payload

    let back = try fixture.advance {
      fixture.broker.retained("chain/k1/status")?.payload == Array("online".utf8)
    }
    fixture.ask(request)
    #expect(try fixture.entries == [1])
    #expect(try fixture.results().isEmpty)
    // On each connection the kiosk reports its menu as soon as it has subscribed.
    let hears = try fixture.advance { [topics = fixture.topics] in
      fixture.received.messages.contains { $0.topic == topics.reportedMenu }
    }
    let wait = hears - back - min((back - left) * 16, .seconds(60))
    #expect(.seconds(-1) < wait && wait < .seconds(1))
    fixture.ask(request)
    #expect(try fixture.results().count == 2)
  }

  /// An overloaded broker that loses connections while they subscribe is not asked again at once.
  @Test func whoeverLosesTheLineBeforeItHearsSubscribesLater() throws {
    let id = "uplink-\(UInt32.max)"
    /// Returns the time from the last reconnect to the subscription.
    func timeUntilItHears(cuts: Int) throws -> Duration {
      for _ in 0..<cuts {
        fixture.broker.cut(id)
        fixture.executor.run()
        _ = try fixture.advance { fixture.broker.isConnected(id) }
      }
      let back = fixture.broker.now
      fixture.received.clear()
      _ = try fixture.advance(within: .seconds(1000)) { [topics = fixture.topics] in
        fixture.received.messages.contains { $0.topic == topics.reportedMenu }
      }
      return fixture.broker.now - back
    }
    try fixture.start { 1 }
    fixture.advance(by: .seconds(1))
    for (cuts, seconds) in [(2, 60), (3, 120), (9, 600), (2, 60)] {
      let wait = try timeUntilItHears(cuts: cuts) - .seconds(seconds)
      #expect(.seconds(-1) < wait && wait < .seconds(1), "\(cuts)")
    }
    #expect(try timeUntilItHears(cuts: 1) <= .seconds(60))
  }

  @Test func whoeverLosesTheLineWhileItSubscribesSubscribesLater() throws {
    let id = "uplink-\(UInt32.max / 2)"
    try fixture.start { 0.5 }
    fixture.advance(by: .seconds(1))
    fixture.broker.refuseLogins()
    fixture.broker.cut(id)
    fixture.advance(by: .seconds(8))
    fixture.broker.refuseLogins(false)
    _ = try fixture.advance { fixture.broker.isConnected(id) }
    // After 30 seconds it subscribes, and publishes its status again.
    fixture.broker.inject(MemoryBroker.Fault(.before, .publish, of: id))
    let losses = fixture.broker.losses(of: id)
    _ = try fixture.advance { fixture.broker.losses(of: id) > losses }
    let back = try fixture.advance { fixture.broker.isConnected(id) }
    fixture.received.clear()
    let hears = try fixture.advance { [topics = fixture.topics] in
      fixture.received.messages.contains { $0.topic == topics.reportedMenu }
    }
    let wait = hears - back - .seconds(30)
    #expect(.seconds(-1) < wait && wait < .seconds(1))
  }

  @Test func whoeverMayHearNothingStillTells() throws {
    fixture.broker.refuseSubscription(to: TopicFilter(unchecked: fixture.topics.desiredMenu))
    try fixture.record(1)
    try fixture.start()
    fixture.advance(by: .seconds(10))
    #expect(try fixture.entries == [1])
    #expect(fixture.received.messages.contains { $0.topic == fixture.topics.reportedMenu })
  }

  /// A broker that deletes the state of an old connection by its name, late, does not affect the
  /// next one.
  @Test func eachConnectionHasAClientIDOfItsOwn() throws {
    let chances = Mutex<[Double]>([1, 0.5, 0])
    try fixture.start { chances.withLock { $0.count > 1 ? $0.removeLast() : $0[0] } }
    fixture.advance(by: .seconds(10))
    #expect(fixture.broker.isConnected("uplink-0"))
    fixture.broker.cut("uplink-0")
    fixture.executor.run()
    fixture.advance(by: .seconds(10))
    #expect(!fixture.broker.isConnected("uplink-0"))
    #expect(fixture.broker.isConnected("uplink-\(UInt32.max)"))
  }

  /// A broker publishes the will of a dead connection after the kiosk has reconnected.
  @Test func aWillThatComesLateIsCorrected() throws {
    try fixture.start()
    fixture.advance(by: .seconds(15))
    fixture.send(fixture.topics.status(.offline))
    #expect(fixture.broker.retained("chain/k1/status")?.payload == Array("offline".utf8))
    fixture.advance(by: .seconds(30))
    #expect(fixture.broker.retained("chain/k1/status")?.payload == Array("online".utf8))
    // The status is not repeated after that.
    fixture.advance(by: .seconds(3600))
    #expect(fixture.received.messages.count { $0.topic == "chain/k1/status" } == 3)
  }

  // MARK: Replay

  @Test func anArchiveGetsAgainWhatItHasMissed() throws {
    try fixture.record(300)
    try fixture.start()
    fixture.advance(by: .seconds(2))
    fixture.received.clear()
    let epoch = try fixture.epoch
    fixture.ask(ReplayRequest(id: "r1", epoch: epoch, range: 100...119).payload)
    #expect(try fixture.entries == Array(100...119))
    #expect(
      try fixture.results() == [
        .replaying("r1", epoch: epoch, 100...119), .done("r1", epoch: epoch, 100...119),
      ])
  }

  @Test func anArchiveHearsWhatTheKioskDoesNotHave() throws {
    try fixture.record(10)
    try fixture.start()
    fixture.advance(by: .seconds(1))
    fixture.received.clear()
    let epoch = try fixture.epoch
    fixture.ask(ReplayRequest(id: "r1", epoch: 5, range: 1...2).payload)
    fixture.ask(ReplayRequest(id: "r2", epoch: epoch, range: 11...20).payload)
    fixture.ask(ReplayRequest(id: "r3", epoch: epoch, range: 9...20).payload)
    #expect(
      try fixture.results() == [
        .rejected("r1", .unknownEpoch, detail: "the ledger has no entry of epoch 5"),
        .rejected("r2", .outOfRange, detail: "epoch \(epoch) has the entries 1 to 10"),
        .replaying("r3", epoch: epoch, 9...10), .done("r3", epoch: epoch, 9...10),
      ])
    #expect(try fixture.entries == [9, 10])
  }

  @Test(arguments: [
    "", "{}", #"{"id":"r1","epoch":1,"from":0,"to":5}"#, #"{"id":"r1","epoch":1,"from":6,"to":5}"#,
    #"{"id":"r1","epoch":1.5,"from":1,"to":5}"#, String(repeating: " ", count: 5000),
  ])
  func whatIsNoRequestIsAnswered(payload: String) throws {
    try fixture.start()
    fixture.ask(Array(payload.utf8))
    guard case .rejected(nil, .malformed, _) = try #require(try fixture.results().first) else {
      Issue.record("it was taken")
      return
    }
    try fixture.record(1)
    fixture.advance(by: .seconds(1))
    #expect(try fixture.entries == [1])
  }

  /// An account of the archive may send 20 requests per second.
  @Test func aLedgerThatCannotBeReadIsLoggedOnceAMinute() throws {
    try fixture.record(5)
    try fixture.start()
    fixture.advance(by: .seconds(1))
    let request = ReplayRequest(id: "r1", epoch: try fixture.epoch, range: 1...5)
    try fixture.hideEntries()
    for _ in 0..<90 { fixture.ask(request.payload) }
    let lines = fixture.log.lines.filter { $0.contains("the ledger cannot be read") }
    #expect(lines.count == 2)
    #expect(lines.last?.contains("more since the last such line") == true)
  }

  @Test func whatABrokerHasKeptIsNotAskedForNow() throws {
    try fixture.record(5)
    let request = ReplayRequest(id: "r1", epoch: try fixture.epoch, range: 1...5)
    fixture.ask(request.payload, retain: true)
    try fixture.start()
    fixture.advance(by: .seconds(1))
    #expect(try fixture.entries == [1, 2, 3, 4, 5])
    #expect(
      try fixture.results() == [
        .rejected(nil, .malformed, detail: "a request must not be retained")
      ])
  }
}
