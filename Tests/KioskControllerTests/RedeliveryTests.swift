import InMemoryBroker
import KioskController
import KioskCore
import KioskMessages
import Ledger
import MessageBroker
import Testing

/// Presses without an id, on brokers that number and mark redeliveries each in their own way.
@Suite struct RedeliveryTests {
  private static let order = "kiosk/k1/order/p1"

  /// A new press waits when the kiosk comes back, with the bytes of the old one and, where packet ids
  /// start anew, with its number.
  @Test(
    arguments: MemoryBroker.Habits.allCases,
    [MemoryBroker.Fault.Moment.before, .after])
  func anOldPressIsKnownAndANewOneIsMade(
    habits: MemoryBroker.Habits, moment: MemoryBroker.Fault.Moment
  ) throws {
    for dies in [false, true] {
      let scene = try Scene(habits: habits)
      try scene.startKiosk()
      let panel = try scene.panel()
      scene.publish("banana", to: Self.order, by: panel)
      scene.broker.inject(.init(moment, .settle, of: "kiosk"))
      scene.publish("banana", to: Self.order, by: panel)
      if dies { scene.crashKiosk() }
      scene.publish("banana", to: Self.order, by: panel)
      if dies { try scene.startKiosk() }
      scene.advance(by: .seconds(10))
      #expect(scene.retained("stock/banana") == "4", "\(habits), dies: \(dies)")
      #expect(Set(try panel.takeResults().compactMap(\.ticket)) == [1, 2, 3])
    }
  }

  /// The old press is acknowledged, and its answer never confirmed; a new one with the same bytes has
  /// been sent to the kiosk when it dies, and not read. Where packet ids start anew, only the note
  /// tells that it is new.
  @Test(arguments: MemoryBroker.Habits.allCases, [false, true])
  func anUnreadPressIsMadeIfTheOldOneIsKnownToBeAcknowledged(
    habits: MemoryBroker.Habits, isNoted: Bool
  ) throws {
    let scene = try Scene(habits: habits)
    try scene.startKiosk()
    let panel = try scene.panel()
    scene.broker.inject(.init(.after, .settle, of: "kiosk"))
    scene.publish("banana", to: Self.order, by: panel)
    scene.advance(by: .seconds(1))
    scene.broker.inject(.init(.before, .delivery, of: "kiosk"))
    scene.publish("banana", to: Self.order, by: panel)
    scene.crashKiosk()
    if isNoted { try KioskLedger(path: scene.ledgerPath).noteAcknowledged(through: 2) }
    try scene.startKiosk()
    // If nothing tells, it is taken for the old one: rather one too few than one too many.
    let isMade = isNoted || habits != .rabbitMQ
    #expect(scene.retained("stock/banana") == (isMade ? "6" : "8"))
  }

  /// The same in one process: it has acknowledged the old press, and dies before it hears that the
  /// answer has arrived.
  @Test(arguments: MemoryBroker.Habits.allCases)
  func whatWasAcknowledgedIsNotedBeforeItIsConfirmed(habits: MemoryBroker.Habits) throws {
    let scene = try Scene(habits: habits)
    let panel = try scene.panel()
    scene.batchLimit = 1
    try scene.startKiosk(dyingAt: "\(Self.order)/result")
    scene.broker.cut("kiosk")
    for _ in 1...2 { scene.publish("banana", to: Self.order, by: panel) }
    scene.advance(by: .seconds(1))
    #expect(try panel.takeResults().map(\.ticket) == [1], "it has died behind the first")
    scene.crashKiosk()
    try scene.startKiosk()
    #expect(scene.retained("stock/banana") == "6")
  }

  /// The old press is made, its acknowledgement lost, and then the broker has lost the session. In the next
  /// one a new press with the same bytes may have its number, and comes again.
  @Test(arguments: MemoryBroker.Habits.allCases)
  func aPressOfANewSessionIsNoneOfTheOldOne(habits: MemoryBroker.Habits) throws {
    let scene = try Scene(habits: habits)
    try scene.startKiosk()
    let panel = try scene.panel()
    scene.broker.inject(.init(.before, .settle, of: "kiosk"))
    scene.publish("banana", to: Self.order, by: panel)
    scene.broker.dropSession(of: "kiosk")
    scene.advance(by: .seconds(10))
    scene.broker.inject(.init(.before, .delivery, of: "kiosk"))
    scene.publish("banana", to: Self.order, by: panel)
    scene.advance(by: .seconds(10))
    #expect(scene.retained("stock/banana") == "6")
  }

  /// What an earlier connection wrote may be lost with it, even if the process dies later.
  @Test func whatWasWrittenToALostConnectionIsNotTakenForAcknowledged() throws {
    let scene = try Scene(habits: .rabbitMQ)
    try scene.startKiosk()
    let panel = try scene.panel()
    scene.publish("kiwi", to: Self.order, by: panel)
    scene.broker.inject(.init(.before, .acknowledgement, of: "kiosk"))
    scene.publish("banana", to: Self.order, by: panel)
    scene.crashKiosk()
    try scene.startKiosk()
    #expect(scene.retained("stock/banana") == "8")
  }

  /// Somebody has put another ledger in the place of the one that the lock file knew.
  @Test func aNoteOfWhatTheLedgerDoesNotHaveTellsNothing() throws {
    let scene = try Scene(habits: .rabbitMQ)
    try KioskLedger(path: scene.ledgerPath).noteAcknowledged(through: 100)
    try scene.startKiosk()
    let panel = try scene.panel()
    scene.broker.inject(.init(.before, .acknowledgement, of: "kiosk"))
    scene.publish("banana", to: Self.order, by: panel)
    scene.advance(by: .seconds(1))
    #expect(scene.retained("stock/banana") == "8")
  }

  /// Three are unacknowledged. The next connection breaks after the first of them, when all answers
  /// have been published again and confirmed.
  @Test(arguments: [false, true])
  func anAnswerThatIsPublishedAgainAcknowledgesNothing(diesThen: Bool) throws {
    let juices = ["kiwi", "banana", "mango"]
    let scene = try Scene(habits: .rabbitMQ)
    try scene.startKiosk()
    let panel = try scene.panel()
    scene.broker.cut("kiosk")
    for juice in juices { scene.publish(juice, to: Self.order, by: panel) }
    scene.broker.inject(.init(.before, .acknowledgement, of: "kiosk"))
    scene.advance(by: .seconds(1))
    scene.crashKiosk()

    scene.batchLimit = 1
    if diesThen {
      try scene.startKiosk(dyingAt: "\(Self.order)/result")
      scene.crashKiosk()
    } else {
      scene.broker.inject(.init(.before, .acknowledgement, of: "kiosk", skipping: 1))
    }
    try scene.startKiosk()
    scene.advance(by: .seconds(10))
    #expect(juices.map { scene.retained("stock/\($0)") } == ["7", "8", "7"])
  }
}
