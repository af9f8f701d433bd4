import InMemoryBroker
import JuiceDomain
import KioskCore
import KioskMessages
import Ledger
import MessageBroker
import Synchronization
import Testing

@testable import Uplink

@Suite struct UplinkTests {
  private let scene: Scene

  init() throws { scene = try Scene() }

  @Test func whatIsRecordedGoesUp() throws {
    try scene.record(3)
    try scene.start()
    scene.advance(by: .seconds(1))
    #expect(try scene.entries == [1, 2, 3])
    try scene.record(2)
    scene.advance(by: .seconds(1))
    #expect(try scene.entries == [1, 2, 3, 4, 5])
    let event = try #require(scene.heard.messages.last)
    #expect(try LedgerEntry(payload: event.payload).epoch == scene.epoch)
    #expect(scene.outbox.unsaved() == 5)
  }

  @Test func whoeverAsksHearsWhetherTheKioskIsThere() throws {
    try scene.start()
    #expect(scene.broker.retained("chain/k1/status")?.payload == Array("online".utf8))
    scene.crash()
    #expect(scene.broker.retained("chain/k1/status")?.payload == Array("offline".utf8))
    try scene.start()
    try scene.record(1)
    scene.stop()
    #expect(scene.broker.retained("chain/k1/status")?.payload == Array("offline".utf8))
    // What was recorded last has left before.
    #expect(try scene.entries == [1])
  }

  @Test func healthIsToldSeldom() throws {
    scene.outbox.health = Array("1".utf8)
    try scene.start()
    scene.advance(by: .seconds(1))
    #expect(scene.broker.retained("chain/k1/health")?.payload == Array("1".utf8))
    scene.outbox.health = Array("2".utf8)
    scene.broker.cut("uplink-0")
    scene.advance(by: .seconds(295))
    #expect(scene.broker.retained("chain/k1/health")?.payload == Array("1".utf8))
    scene.advance(by: .seconds(10))
    #expect(scene.broker.retained("chain/k1/health")?.payload == Array("2".utf8))
  }

  /// Where it breaks, and whether what was being done has had its effect.
  @Test(
    arguments: [MemoryBroker.Fault.Moment.before, .after],
    [MemoryBroker.Fault.Step.connect, .publish])
  func aConnectionThatBreaksLosesNoEntry(
    moment: MemoryBroker.Fault.Moment, step: MemoryBroker.Fault.Step
  ) throws {
    try scene.record(120)
    for skipping in [0, 7, 60] {
      scene.broker.inject(MemoryBroker.Fault(moment, step, of: "uplink-0", skipping: skipping))
    }
    try scene.start()
    scene.advance(by: .seconds(60))
    #expect(Set(try scene.entries) == Set(1...120))
    #expect(scene.outbox.unsaved() == 120)
  }

  @Test func aBrokerThatIsAwayIsWaitedFor() throws {
    scene.broker.stop()
    try scene.record(12_000)
    try scene.start()
    scene.advance(by: .seconds(100))
    scene.broker.start(remembering: .everything)
    scene.advance(by: .seconds(60))
    #expect(Set(try scene.entries) == Set(1...12_000))
  }

  /// What came up since the ledger was told last comes twice, and nothing is left out.
  @Test func aCrashLosesNoEntry() throws {
    try scene.record(50)
    try scene.start()
    scene.advance(by: .seconds(1))
    try scene.record(50)
    scene.advance(by: .seconds(1))
    scene.crash()
    scene.heard.forget()
    #expect(try scene.ledger.uplinked() == 50)
    try scene.start()
    scene.advance(by: .seconds(1))
    #expect(try scene.entries == Array(51...100))
  }

  // MARK: What is heard

  /// A broker to which a thousand kiosks come back lets them in before it subscribes them.
  @Test(arguments: [0, 8, 3600])
  func whoeverComesBackTellsBeforeItHears(secondsAway: Int) throws {
    try scene.start { 1 }
    scene.advance(by: .seconds(1))
    scene.heard.forget()
    scene.broker.refuseLogins()
    scene.broker.cut("uplink-\(UInt32.max)")
    scene.executor.run()
    let left = scene.broker.now
    scene.advance(by: .seconds(secondsAway))
    scene.broker.refuseLogins(false)
    try scene.record(1)
    let request = ReplayRequest(id: "r1", epoch: try scene.epoch, range: 1...1).payload

    let back = try scene.advance {
      scene.broker.retained("chain/k1/status")?.payload == Array("online".utf8)
    }
    scene.ask(request)
    #expect(try scene.entries == [1])
    #expect(try scene.results().isEmpty)
    // On each connection it says what it sells by, as soon as it hears what it is to sell by.
    let hears = try scene.advance { [topics = scene.topics] in
      scene.heard.messages.contains { $0.topic == topics.reportedMenu }
    }
    let wait = hears - back - min((back - left) * 16, .seconds(60))
    #expect(.seconds(-1) < wait && wait < .seconds(1))
    scene.ask(request)
    #expect(try scene.results().count == 2)
  }

  /// A broker that is too busy to subscribe a thousand kiosks, and so loses them, is not asked again at once.
  @Test func whoeverLosesTheLineBeforeItHearsSubscribesLater() throws {
    let id = "uplink-\(UInt32.max)"
    /// From the moment at which it is back.
    func timeUntilItHears(cuts: Int) throws -> Duration {
      for _ in 0..<cuts {
        scene.broker.cut(id)
        scene.executor.run()
        _ = try scene.advance { scene.broker.isConnected(id) }
      }
      let back = scene.broker.now
      scene.heard.forget()
      _ = try scene.advance(within: .seconds(1000)) { [topics = scene.topics] in
        scene.heard.messages.contains { $0.topic == topics.reportedMenu }
      }
      return scene.broker.now - back
    }
    try scene.start { 1 }
    scene.advance(by: .seconds(1))
    for (cuts, seconds) in [(2, 60), (3, 120), (9, 600), (2, 60)] {
      let wait = try timeUntilItHears(cuts: cuts) - .seconds(seconds)
      #expect(.seconds(-1) < wait && wait < .seconds(1), "\(cuts)")
    }
    #expect(try timeUntilItHears(cuts: 1) <= .seconds(60))
  }

  @Test func whoeverMayHearNothingStillTells() throws {
    scene.broker.refuseSubscription(to: TopicFilter(unchecked: scene.topics.desiredMenu))
    try scene.record(1)
    try scene.start()
    scene.advance(by: .seconds(10))
    #expect(try scene.entries == [1])
    #expect(scene.heard.messages.contains { $0.topic == scene.topics.reportedMenu })
  }

  /// A broker that deletes what a connection has left, late and by its name, does not meet the next one.
  @Test func eachConnectionHasAClientIDOfItsOwn() throws {
    let chances = Mutex<[Double]>([1, 0.5, 0])
    try scene.start { chances.withLock { $0.count > 1 ? $0.removeLast() : $0[0] } }
    scene.advance(by: .seconds(10))
    #expect(scene.broker.isConnected("uplink-0"))
    scene.broker.cut("uplink-0")
    scene.executor.run()
    scene.advance(by: .seconds(10))
    #expect(!scene.broker.isConnected("uplink-0"))
    #expect(scene.broker.isConnected("uplink-\(UInt32.max)"))
  }

  /// A broker tells the will of a connection that is dead when the kiosk is back by another one.
  @Test func aWillThatComesLateIsCorrected() throws {
    try scene.start()
    scene.advance(by: .seconds(15))
    scene.send(scene.topics.status(.offline))
    #expect(scene.broker.retained("chain/k1/status")?.payload == Array("offline".utf8))
    scene.advance(by: .seconds(30))
    #expect(scene.broker.retained("chain/k1/status")?.payload == Array("online".utf8))
    // And not again and again.
    scene.advance(by: .seconds(3600))
    #expect(scene.heard.messages.count { $0.topic == "chain/k1/status" } == 3)
  }

  // MARK: Replay

  @Test func anArchiveGetsAgainWhatItHasMissed() throws {
    try scene.record(300)
    try scene.start()
    scene.advance(by: .seconds(2))
    scene.heard.forget()
    let epoch = try scene.epoch
    scene.ask(ReplayRequest(id: "r1", epoch: epoch, range: 100...119).payload)
    #expect(try scene.entries == Array(100...119))
    #expect(
      try scene.results() == [
        .replaying("r1", epoch: epoch, 100...119), .done("r1", epoch: epoch, 100...119),
      ])
  }

  @Test func anArchiveHearsWhatTheKioskDoesNotHave() throws {
    try scene.record(10)
    try scene.start()
    scene.advance(by: .seconds(1))
    scene.heard.forget()
    let epoch = try scene.epoch
    scene.ask(ReplayRequest(id: "r1", epoch: 5, range: 1...2).payload)
    scene.ask(ReplayRequest(id: "r2", epoch: epoch, range: 11...20).payload)
    scene.ask(ReplayRequest(id: "r3", epoch: epoch, range: 9...20).payload)
    #expect(
      try scene.results() == [
        .rejected("r1", .unknownEpoch, detail: "the ledger has no entry of epoch 5"),
        .rejected("r2", .outOfRange, detail: "epoch \(epoch) has the entries 1 to 10"),
        .replaying("r3", epoch: epoch, 9...10), .done("r3", epoch: epoch, 9...10),
      ])
    #expect(try scene.entries == [9, 10])
  }

  @Test(arguments: [
    "", "{}", #"{"id":"r1","epoch":1,"from":0,"to":5}"#, #"{"id":"r1","epoch":1,"from":6,"to":5}"#,
    #"{"id":"r1","epoch":1.5,"from":1,"to":5}"#, String(repeating: " ", count: 5000),
  ])
  func whatIsNoRequestIsAnswered(payload: String) throws {
    try scene.start()
    scene.ask(Array(payload.utf8))
    guard case .rejected(nil, .malformed, _) = try #require(try scene.results().first) else {
      Issue.record("it was taken")
      return
    }
    try scene.record(1)
    scene.advance(by: .seconds(1))
    #expect(try scene.entries == [1])
  }

  @Test func whatABrokerHasKeptIsNotAskedForNow() throws {
    try scene.record(5)
    let request = ReplayRequest(id: "r1", epoch: try scene.epoch, range: 1...5)
    scene.ask(request.payload, retain: true)
    try scene.start()
    scene.advance(by: .seconds(1))
    #expect(try scene.entries == [1, 2, 3, 4, 5])
    #expect(
      try scene.results() == [
        .rejected(nil, .malformed, detail: "a request must not be retained")
      ])
  }
}
