import JuiceDomain
import KioskProtocol
import MessageBroker
import Testing

@testable import KioskCore

@Suite struct DebounceTests {
  private let kiosk: TestKiosk

  init() throws {
    kiosk = try TestKiosk(settings: .test(orders: .init(debounce: .milliseconds(500))))
  }

  /// Neither new settings nor setting the clock make one press count as two.
  @Test func aReloadDoesNotForgetAPress() throws {
    let kiosk = try TestKiosk(settings: .test(orders: .init(debounce: .seconds(1))))
    try kiosk.receive(.order("banana", packetID: 1))
    try kiosk.reload()
    kiosk.setClock(ahead: -3600)
    try kiosk.receive(.order("banana", packetID: 2))
    #expect(kiosk.stock["banana"] == 8)
  }

  @Test func pressesWithinTheWindowAreOne() throws {
    let decision = try kiosk.receive(.order("banana"), .order("banana"))
    #expect(try decision.statuses == [.ready])
    kiosk.pass(.milliseconds(499))
    #expect(try kiosk.receive(.order("banana")).answers.isEmpty)
    #expect(kiosk.core.counters.duplicates == 2)
    // The window starts with the last press, so a button that is held counts once.
    kiosk.pass(.milliseconds(499))
    #expect(try kiosk.receive(.order("banana")).answers.isEmpty)
    kiosk.pass(.milliseconds(500))
    #expect(try kiosk.receive(.order("banana")).statuses == [.ready])
    #expect(kiosk.stock["banana"] == 6)
  }

  @Test func eachPanelAndEachJuiceHasItsOwnWindow() throws {
    let decision = try kiosk.receive(
      .order("banana"), .order("kiwi"), .order("banana", panel: "p2"),
      .order(#"{"juice":"banana","quantity":2}"#))
    #expect(try decision.statuses == [.ready, .ready, .ready, .ready])
  }

  @Test func pressesWithAnIDNeedNoWindow() throws {
    let decision = try kiosk.receive(
      .order(#"{"id":"a1","juice":"banana"}"#), .order(#"{"id":"a2","juice":"banana"}"#))
    #expect(try decision.results.map(\.ticket) == [1, 2])
  }

  @Test func aRetainedPressOpensNoWindow() throws {
    let decision = try kiosk.receive(
      .order("banana", retain: true), .order("banana"), .order("banana", retain: true))
    #expect(try decision.reasons == [.retained, nil, .retained])
    #expect(kiosk.stock["banana"] == 8)
  }

  /// Both copies of a press arrive, and the kiosk crashes before the broker has received the
  /// acknowledgements.
  @Test(arguments: [true, false])
  func aBouncedPressStaysOneAfterACrash(inOneBatch: Bool) throws {
    let (press, echo) = (
      Delivery.order("banana", packetID: 1), Delivery.order("banana", packetID: 2)
    )
    if inOneBatch {
      try kiosk.receive(press, echo)
    } else {
      try kiosk.receive(press)
      try kiosk.receive(echo)
    }
    try kiosk.restart()
    kiosk.pass(.seconds(5))
    let again = try kiosk.receive(
      .order("banana", packetID: 1, redelivered: true),
      .order("banana", packetID: 2, redelivered: true))
    #expect(try again.results.map(\.ticket) == [1, 1])
    #expect(try again.results.map(\.isDuplicate) == [true, true])
    #expect(kiosk.stock["banana"] == 8)
  }

  /// The broker restarts packet ids, and redelivers only the copy.
  @Test func aBouncedPressIsNotAcknowledgedWithTheOneThatItRepeats() throws {
    try kiosk.receive(.order("banana", packetID: 1))
    try kiosk.receive(.order("banana", packetID: 2))
    try kiosk.restart(acknowledged: kiosk.core.seq)
    kiosk.pass(.seconds(5))
    let again = try kiosk.receive(.order("banana", packetID: 1, redelivered: true))
    #expect(try again.results.map(\.ticket) == [1])
    #expect(kiosk.stock["banana"] == 8)
  }

  @Test func aRestartDoesNotOpenTheWindow() throws {
    try kiosk.receive(.order("banana"))
    try kiosk.restart()
    kiosk.pass(.milliseconds(499))
    try kiosk.receive(.order("banana"))
    #expect(kiosk.stock["banana"] == 8)
    kiosk.pass(.milliseconds(500))
    try kiosk.receive(.order("banana"))
    #expect(kiosk.stock["banana"] == 6)
  }

  @Test func anErrorOfTheLedgerDoesNotOpenTheWindow() throws {
    for _ in 0..<3 {
      try kiosk.receive(.order("banana"))
      try kiosk.recover()
      kiosk.pass(.milliseconds(400))
    }
    #expect(kiosk.stock["banana"] == 8)
    kiosk.pass(.milliseconds(100))
    try kiosk.receive(.order("banana"))
    #expect(kiosk.stock["banana"] == 6)
  }

  private static func moment(_ milliseconds: Int) -> Moment {
    Moment(
      timestamp: Timestamp(milliseconds: Int64(milliseconds)), day: 0,
      uptime: .milliseconds(milliseconds))
  }

  @Test(arguments: [-10, -1, 1, 3600]) func aClockThatIsSetMakesNoPressOneWithAnother(
    seconds: Int64
  ) throws {
    try kiosk.receive(.order("banana"))
    kiosk.pass(.seconds(10))
    kiosk.setClock(ahead: seconds)
    try kiosk.receive(.order("banana"))
    #expect(kiosk.stock["banana"] == 6)
    kiosk.setClock(ahead: seconds)
    try kiosk.receive(.order("banana"))
    #expect(kiosk.stock["banana"] == 6)
  }

  @Test func withoutAWindowEveryPressCounts() {
    var debounce = Debounce()
    let panel = Source(kind: .order, name: "p1")
    for seq in 1...3 {
      let original = debounce.original(
        of: Order(juice: "banana"), from: panel, at: Self.moment(0), seq: seq, window: .zero)
      #expect(original == nil)
    }
  }

  @Test func whatIsOverIsForgotten() {
    var debounce = Debounce()
    for index in 0..<5000 {
      let panel = Source(kind: .order, name: "p\(index)")
      let original = debounce.original(
        of: Order(juice: "kiwi"), from: panel, at: Self.moment(index), seq: index,
        window: .milliseconds(500))
      #expect(original == nil)
      #expect(debounce.count <= 1000)
    }
  }
}
