import InMemoryBroker
import KioskCore
import KioskDaemon
import KioskProtocol
import Ledger
import MessageBroker
import Testing

/// Tests presses without an id, on brokers that number packets and mark redeliveries differently.
@Suite struct RedeliveryTests {
  private static let order = "kiosk/k1/order/p1"

  /// A new press is queued when the kiosk reconnects, with the payload of the old one and, if
  /// packet ids restart, with its packet id.
  @Test(
    arguments: MemoryBroker.Behavior.allCases,
    [MemoryBroker.Fault.Moment.before, .after])
  func anOldPressIsKnownAndANewOneIsMade(
    behavior: MemoryBroker.Behavior, moment: MemoryBroker.Fault.Moment
  ) throws {
    for dies in [false, true] {
      let fixture = try KioskFixture(behavior: behavior)
      try fixture.startKiosk()
      let panel = try fixture.panel()
      fixture.publish("banana", to: Self.order, by: panel)
      fixture.broker.inject(.init(moment, .acknowledge, of: "kiosk"))
      fixture.publish("banana", to: Self.order, by: panel)
      if dies { fixture.crashKiosk() }
      fixture.publish("banana", to: Self.order, by: panel)
      if dies { try fixture.startKiosk() }
      fixture.advance(by: .seconds(10))
      #expect(fixture.retained("stock/banana") == "4", "\(behavior), dies: \(dies)")
      #expect(Set(try panel.takeResults().compactMap(\.ticket)) == [1, 2, 3])
    }
  }

  /// The old press is acknowledged, but its answer is never confirmed. A new press with the same
  /// payload has been sent to the kiosk and not read when the kiosk crashes. If packet ids restart,
  /// only the recorded acknowledgement shows that the press is new.
  @Test(arguments: MemoryBroker.Behavior.allCases, [false, true])
  func anUnreadPressIsMadeIfTheOldOneIsKnownToBeAcknowledged(
    behavior: MemoryBroker.Behavior, isNoted: Bool
  ) throws {
    let fixture = try KioskFixture(behavior: behavior)
    try fixture.startKiosk()
    let panel = try fixture.panel()
    fixture.broker.inject(.init(.after, .acknowledge, of: "kiosk"))
    fixture.publish("banana", to: Self.order, by: panel)
    fixture.advance(by: .seconds(1))
    fixture.broker.inject(.init(.before, .delivery, of: "kiosk"))
    fixture.publish("banana", to: Self.order, by: panel)
    fixture.crashKiosk()
    if isNoted { try KioskLedger(path: fixture.ledgerPath).recordAcknowledged(through: 2) }
    try fixture.startKiosk()
    // Without the record the press counts as a redelivery: a missing juice is better than a second
    // one.
    let isMade = isNoted || behavior != .rabbitMQ
    #expect(fixture.retained("stock/banana") == (isMade ? "6" : "8"))
  }

  /// The same within one process: it has acknowledged the old press, and crashes before it receives
  /// the confirmation of the answer.
  @Test(arguments: MemoryBroker.Behavior.allCases)
  func whatWasAcknowledgedIsNotedBeforeItIsConfirmed(behavior: MemoryBroker.Behavior) throws {
    let fixture = try KioskFixture(behavior: behavior)
    let panel = try fixture.panel()
    fixture.batchLimit = 1
    try fixture.startKiosk(crashingOn: "\(Self.order)/result")
    fixture.broker.cut("kiosk")
    for _ in 1...2 { fixture.publish("banana", to: Self.order, by: panel) }
    fixture.advance(by: .seconds(1))
    #expect(try panel.takeResults().map(\.ticket) == [1], "it has died behind the first")
    fixture.crashKiosk()
    try fixture.startKiosk()
    #expect(fixture.retained("stock/banana") == "6")
  }

  /// The old press is committed, its acknowledgement is lost, and then the broker loses the
  /// session. In the next session a new press with the same payload may have the same packet id,
  /// and is redelivered.
  @Test(arguments: MemoryBroker.Behavior.allCases)
  func aPressOfANewSessionIsNoneOfTheOldOne(behavior: MemoryBroker.Behavior) throws {
    let fixture = try KioskFixture(behavior: behavior)
    try fixture.startKiosk()
    let panel = try fixture.panel()
    fixture.broker.inject(.init(.before, .acknowledge, of: "kiosk"))
    fixture.publish("banana", to: Self.order, by: panel)
    fixture.broker.dropSession(of: "kiosk")
    fixture.advance(by: .seconds(10))
    fixture.broker.inject(.init(.before, .delivery, of: "kiosk"))
    fixture.publish("banana", to: Self.order, by: panel)
    fixture.advance(by: .seconds(10))
    #expect(fixture.retained("stock/banana") == "6")
  }

  /// Packets written to an earlier connection may be lost with it, even if the process crashes
  /// later.
  @Test func whatWasWrittenToALostConnectionIsNotTakenForAcknowledged() throws {
    let fixture = try KioskFixture(behavior: .rabbitMQ)
    try fixture.startKiosk()
    let panel = try fixture.panel()
    fixture.publish("kiwi", to: Self.order, by: panel)
    fixture.broker.inject(.init(.before, .puback, of: "kiosk"))
    fixture.publish("banana", to: Self.order, by: panel)
    fixture.crashKiosk()
    try fixture.startKiosk()
    #expect(fixture.retained("stock/banana") == "8")
  }

  /// The lock file belongs to another ledger, which this one has replaced.
  @Test func aNoteOfWhatTheLedgerDoesNotHaveTellsNothing() throws {
    let fixture = try KioskFixture(behavior: .rabbitMQ)
    try KioskLedger(path: fixture.ledgerPath).recordAcknowledged(through: 100)
    try fixture.startKiosk()
    let panel = try fixture.panel()
    fixture.broker.inject(.init(.before, .puback, of: "kiosk"))
    fixture.publish("banana", to: Self.order, by: panel)
    fixture.advance(by: .seconds(1))
    #expect(fixture.retained("stock/banana") == "8")
  }

  /// Three presses are unacknowledged. The next connection breaks after the first of them, when all
  /// answers have been published again and confirmed.
  @Test(arguments: [false, true])
  func anAnswerThatIsPublishedAgainAcknowledgesNothing(diesThen: Bool) throws {
    let juices = ["kiwi", "banana", "mango"]
    let fixture = try KioskFixture(behavior: .rabbitMQ)
    try fixture.startKiosk()
    let panel = try fixture.panel()
    fixture.broker.cut("kiosk")
    for juice in juices { fixture.publish(juice, to: Self.order, by: panel) }
    fixture.broker.inject(.init(.before, .puback, of: "kiosk"))
    fixture.advance(by: .seconds(1))
    fixture.crashKiosk()

    fixture.batchLimit = 1
    if diesThen {
      try fixture.startKiosk(crashingOn: "\(Self.order)/result")
      fixture.crashKiosk()
    } else {
      fixture.broker.inject(.init(.before, .puback, of: "kiosk", skipping: 1))
    }
    try fixture.startKiosk()
    fixture.advance(by: .seconds(10))
    #expect(juices.map { fixture.retained("stock/\($0)") } == ["7", "8", "7"])
  }
}
