import Testing

@testable import MessageBroker

/// The rules of a session. Times are in seconds.
@Suite struct SessionRuleTests {
  static let a = TopicFilter(unchecked: "a")
  static let b = TopicFilter(unchecked: "b")
  static let order = Delivery(message: Message(topic: "a", text: "order"), packetID: 1)
  static let gone = BrokerError.connectionLost("gone")

  /// Returns a session that connects at 0, with delays of 1 s, 2 s, 4 s and so on.
  private func connecting(
    _ change: (inout SessionOptions) -> Void = { _ in }
  ) -> Session {
    var session = Session(
      broker: "host", connectTimeout: .seconds(10), delays: Session.reconnectDelays,
      random: { 1 })
    _ = session.connect(options(change), at: .zero)
    return session
  }

  private func options(_ change: (inout SessionOptions) -> Void = { _ in }) -> SessionOptions {
    var options = SessionOptions(clientID: "kiosk", subscriptions: [Self.a])
    change(&options)
    return options
  }

  /// Returns a session that is online since 0, without pending events.
  private func online(
    _ change: (inout SessionOptions) -> Void = { _ in }
  ) -> Session {
    var session = connecting(change)
    _ = session.connected(at: .zero)
    _ = session.connectAckReceived(resumed: false, refusal: nil, at: .zero)
    _ = session.granted(1, [1], at: .zero)
    _ = session.takeEvent()
    _ = session.takeEvent()
    return session
  }

  // MARK: Connecting

  @Test func aSessionComesOnline() {
    var session = Session(
      broker: "host", connectTimeout: .seconds(10), delays: Session.reconnectDelays,
      random: { 1 })
    #expect(session.deadline == nil)
    #expect(session.connect(options(), at: .zero) == [.connect(.clean)])
    #expect(session.connect(options(), at: .zero) == [])
    #expect(session.connected(at: .seconds(1)) == [])
    #expect(session.mayPublish == false)
    #expect(
      session.connectAckReceived(resumed: false, refusal: nil, at: .seconds(2))
        == [.subscribe(1, [Self.a], retainAsPublished: false)])
    #expect(session.mayPublish == true)
    #expect(session.takeEvent() == .sessionBegan)
    #expect(session.takeEvent() == nil)
    #expect(session.granted(1, [1], at: .seconds(3)) == [])
    #expect(session.takeEvent() == .online)
    #expect(session.takeEvent() == nil)
    #expect(session.deadline == nil)
  }

  /// Also if the connection that began the session was lost before it was online.
  @Test(arguments: [false, true]) func aNewSessionIsToldBeforeItsDeliveries(isLost: Bool) {
    var session = connecting()
    _ = session.connected(at: .zero)
    _ = session.connectAckReceived(resumed: false, refusal: nil, at: .zero)
    if isLost {
      _ = session.lost(Self.gone, at: .zero)
      _ = session.tick(isWritten: true, at: .seconds(60))
      _ = session.connected(at: .seconds(60))
      _ = session.connectAckReceived(resumed: true, refusal: nil, at: .seconds(60))
    }
    session.received([Self.order])
    #expect(session.takeEvent() == .sessionBegan)
    if isLost { #expect(session.takeEvent() == .offline(Self.gone)) }
    #expect(session.takeEvent() == .deliveries([Self.order]))
    _ = session.granted(isLost ? 2 : 1, [1], at: .seconds(60))
    #expect(session.takeEvent() == .online)
    #expect(session.takeEvent() == nil)
  }

  /// Its deliveries could be mistaken for those of an earlier session. No timeout runs meanwhile.
  @Test func nothingIsSubscribedToInANewSessionThatTheClientDoesNotKnowOf() {
    var session = connecting()
    _ = session.connected(at: .zero)
    #expect(session.mayWrite == true)
    _ = session.connectAckReceived(resumed: false, refusal: nil, at: .zero)
    #expect((session.mayWrite, session.deadline) == (false, nil))
    #expect(session.tick(isWritten: false, at: .seconds(1000)) == [])
    #expect(session.takeEvent() == .sessionBegan)
    #expect((session.mayWrite, session.deadline) == (false, nil))
    // It asks for the next event, and so has processed this one.
    #expect(session.takeEvent() == nil)
    #expect((session.mayWrite, session.deadline) == (true, .seconds(30)))
  }

  @Test(arguments: [false, true])
  func whoLeavesANewSessionDoesNotSubscribe(publishes: Bool) {
    var session = connecting()
    _ = session.connected(at: .zero)
    _ = session.connectAckReceived(resumed: false, refusal: nil, at: .zero)
    #expect(session.takeEvent() == .sessionBegan)
    if publishes { session.published(packetID: 1, on: "a", at: .zero) }
    // The published message has not been sent, so the broker has to publish the will.
    #expect(
      session.disconnect(grace: .seconds(1), isWritten: false, at: .zero)
        == (publishes ? [.drop, .end] : [.disconnect(acknowledging: false)]))
  }

  @Test func aNewSessionThatIsGivenUpIsToldAgain() {
    var session = connecting()
    for resumed in [false, true, true] {
      _ = session.connected(at: .zero)
      _ = session.connectAckReceived(resumed: resumed, refusal: nil, at: .zero)
      #expect(session.takeEvent() == .sessionBegan)
      #expect(session.abandon(at: .zero) == [.drop])
      _ = session.takeEvent()
      _ = session.tick(isWritten: true, at: .seconds(60))
    }
    _ = session.connected(at: .zero)
    _ = session.connectAckReceived(resumed: true, refusal: nil, at: .zero)
    #expect(session.takeEvent() == .sessionBegan)
    #expect(session.takeEvent() == nil)
    _ = session.abandon(at: .zero)
    _ = session.tick(isWritten: true, at: .seconds(120))
    _ = session.connected(at: .zero)
    _ = session.connectAckReceived(resumed: true, refusal: nil, at: .zero)
    #expect(session.mayWrite == true)
  }

  @Test func withoutSubscriptionsItIsOnlineAtOnce() {
    var session = connecting { $0.subscriptions = [] }
    _ = session.connected(at: .zero)
    #expect(session.connectAckReceived(resumed: false, refusal: nil, at: .zero) == [])
    #expect(session.takeEvent() == .sessionBegan)
    #expect(session.takeEvent() == .online)
  }

  @Test func subscriptionsThatWantTheFlagAsPublishedGoApart() {
    var session = connecting {
      $0.subscriptions = [Self.a, Self.b]
      $0.retainAsPublished = [Self.b]
    }
    _ = session.connected(at: .zero)
    #expect(
      session.connectAckReceived(resumed: false, refusal: nil, at: .zero) == [
        .subscribe(1, [Self.a], retainAsPublished: false),
        .subscribe(2, [Self.b], retainAsPublished: true),
      ])
    #expect(session.granted(1, [1], at: .zero) == [])
    #expect(session.takeEvent() == .sessionBegan)
    #expect(session.takeEvent() == nil)
    #expect(session.granted(2, [1], at: .zero) == [])
    #expect(session.takeEvent() == .online)
  }

  @Test func whoAsksForQoS0GetsIt() {
    var session = connecting {
      $0.subscriptions = [Self.a]
      $0.subscriptionQoS = .atMostOnce
    }
    _ = session.connected(at: .zero)
    _ = session.connectAckReceived(resumed: false, refusal: nil, at: .zero)
    #expect(session.granted(1, [0], at: .zero) == [])
    #expect(session.takeEvent() == .sessionBegan)
    #expect(session.takeEvent() == .online)
  }

  @Test(arguments: [0, 2, 128])
  func whatIsNotGrantedWithQoS1IsRefused(level: Int32) {
    var session = connecting { $0.subscriptions = [Self.a, Self.b] }
    _ = session.connected(at: .zero)
    _ = session.connectAckReceived(resumed: false, refusal: nil, at: .zero)
    #expect(session.granted(1, [1, level], at: .zero) == [.drop])
    #expect(session.takeEvent() == .sessionBegan)
    #expect(session.takeEvent() == .offline(.subscriptionRefused(filter: "b")))
    #expect(session.deadline == .seconds(1))
  }

  @Test func whatIsNoFilterIsRefusedUnasked() {
    var session = connecting { $0.subscriptions.append(TopicFilter(unchecked: "#/a")) }
    _ = session.connected(at: .zero)
    #expect(session.connectAckReceived(resumed: false, refusal: nil, at: .zero) == [.drop])
    #expect(session.takeEvent() == .sessionBegan)
    #expect(session.takeEvent() == .offline(.subscriptionRefused(filter: "#/a")))
  }

  @Test func aBrokerThatRefusesIsTriedAgain() {
    var session = connecting()
    _ = session.connected(at: .zero)
    let refusal = BrokerError.loginRefused("no")
    #expect(session.connectAckReceived(resumed: false, refusal: refusal, at: .zero) == [.drop])
    #expect(session.takeEvent() == .offline(refusal))
    #expect(session.tick(isWritten: true, at: .milliseconds(999)) == [])
    #expect(session.tick(isWritten: true, at: .seconds(1)) == [.connect(.clean)])
  }

  @Test func eachStepHasItsTime() {
    var session = connecting()
    #expect(session.deadline == .seconds(10))
    #expect(session.tick(isWritten: true, at: .seconds(9)) == [])
    _ = session.connected(at: .seconds(9))
    #expect(session.deadline == .seconds(39))
    _ = session.connectAckReceived(resumed: true, refusal: nil, at: .seconds(38))
    #expect(session.deadline == .seconds(68))
    #expect(session.tick(isWritten: true, at: .seconds(68)) == [.drop])
    #expect(
      session.takeEvent() == .offline(.unreachable("host does not finish the MQTT handshake")))
  }

  /// A client that gives up while all clients reconnect only adds another attempt.
  @Test(arguments: [(0, 30), (4, 32), (5, 60), (8, 60)])
  func aBrokerThatHasMuchToDoIsGivenMoreTime(failures: Int, patience: Int) {
    var session = connecting()
    for _ in 0..<failures { _ = session.lost(Self.gone, at: .zero) }
    _ = session.tick(isWritten: true, at: .seconds(100))
    _ = session.connected(at: .seconds(100))
    #expect(session.deadline == .seconds(100 + patience))
    _ = session.connectAckReceived(resumed: true, refusal: nil, at: .seconds(101))
    #expect(session.deadline == .seconds(101 + patience))
  }

  /// An attempt without a timeout would be the only one while the session exists.
  @Test(arguments: [(20, 10), (60, 15), (3600, 30)])
  func aShortSessionLeavesLessTime(expiry: Int, patience: Int) {
    var session = connecting { $0.sessionExpiry = .seconds(expiry) }
    _ = session.connected(at: .zero)
    #expect(session.deadline == .seconds(patience))
  }

  @Test func theWaitDoublesUpToTheLongest() {
    var session = connecting()
    var now = Duration.zero
    for wait in [1, 2, 4, 8, 16, 30, 30] {
      #expect(session.lost(Self.gone, at: now) == [.drop])
      #expect(session.deadline == now + .seconds(wait))
      now += .seconds(wait)
      #expect(session.tick(isWritten: true, at: now) == [.connect(.clean)])
    }
    #expect(session.takeEvent() == .offline(Self.gone))
    #expect(session.takeEvent() == nil, "it is reported once")
  }

  /// However often the client abandons a connection, some attempts take place while its session
  /// exists.
  @Test func theWaitIsAQuarterOfTheSessionsLifeAtMost() {
    var session = connecting { $0.sessionExpiry = .seconds(30) }
    var now = Duration.zero
    for milliseconds in [1000, 2000, 4000, 7500, 7500] {
      _ = session.lost(Self.gone, at: now)
      #expect(session.deadline == now + .milliseconds(milliseconds))
      now += .milliseconds(milliseconds)
      _ = session.tick(isWritten: true, at: now)
    }
  }

  /// (duration of the connection, delay after it)
  @Test(arguments: [(1, 2), (2, 2), (3, 1)])
  func aConnectionThatLastsStartsTheWaitAnew(lasted: Int, wait: Int) {
    var session = connecting()
    _ = session.lost(Self.gone, at: .zero)
    _ = session.tick(isWritten: true, at: .seconds(1))
    _ = session.connected(at: .seconds(1))
    _ = session.connectAckReceived(resumed: false, refusal: nil, at: .seconds(1))
    _ = session.granted(1, [1], at: .seconds(1))
    _ = session.lost(Self.gone, at: .seconds(1 + lasted))
    #expect(session.deadline == .seconds(1 + lasted + wait))
  }

  // MARK: Resuming

  /// (seconds since the last packet before the start, whether a clean start is requested, kind of
  /// connection)
  @Test(arguments: [
    (0, false, Session.Start.resume), (30, false, .resume), (31, false, .wipe), (0, true, .wipe),
  ])
  func howTheFirstConnectionBegins(absence: Int, cleanStart: Bool, start: Session.Start) {
    var session = Session(
      broker: "host", connectTimeout: .seconds(10), delays: Session.reconnectDelays,
      random: { 1 })
    let options = options {
      $0.sessionExpiry = .seconds(30)
      $0.absence = .seconds(absence)
      $0.cleanStart = cleanStart
    }
    #expect(session.connect(options, at: .seconds(100)) == [.connect(start)])
  }

  @Test func aSessionIsWipedOnAConnectionOfItsOwn() {
    var session = connecting { $0.sessionExpiry = .seconds(30) }
    _ = session.connected(at: .zero)
    #expect(
      session.connectAckReceived(resumed: false, refusal: nil, at: .zero)
        == [.disconnect(acknowledging: true), .connect(.resume)])
  }

  /// (duration of the attempt in seconds, whether the session is resumed)
  @Test(arguments: [(30, true), (31, false)])
  func whatIsTooOldByThenIsNotResumed(took: Int, resumes: Bool) {
    var session = connecting {
      $0.sessionExpiry = .seconds(30)
      $0.cleanStart = false
    }
    #expect(session.connected(at: .seconds(took)) == (resumes ? [] : [.connect(.wipe)]))
  }

  /// (time of a read while online, time of the connection loss, kind of the next connection)
  @Test(arguments: [(0, 10, Session.Start.resume), (100, 110, .resume), (0, 31, .wipe)])
  func theSessionLivesAsLongAsItIsServed(read: Int, lost: Int, start: Session.Start) {
    var session = online {
      $0.sessionExpiry = .seconds(30)
      $0.cleanStart = false
    }
    session.didRead(at: .seconds(read), until: .seconds(read))
    _ = session.lost(Self.gone, at: .seconds(lost))
    #expect(session.tick(isWritten: true, at: .seconds(lost + 1)) == [.connect(start)])
  }

  @Test func whatSleptReadsNothing() {
    var session = online { $0.sessionExpiry = .seconds(30) }
    session.checkedSocket(at: .seconds(5))
    #expect(session.willRead(at: .seconds(35)) == [])
    #expect(session.willRead(at: .seconds(36)) == [.drop])
    #expect(session.tick(isWritten: true, at: .seconds(37)) == [.connect(.wipe)])
  }

  @Test func whoAbandonsServesNobody() {
    var session = online {
      $0.sessionExpiry = .seconds(30)
      $0.cleanStart = false
    }
    session.received([Self.order])
    session.didRead(at: .seconds(20), until: .seconds(20))
    _ = session.takeEvent()
    #expect(session.abandon(at: .seconds(21)) == [.drop])
    #expect(session.tick(isWritten: true, at: .seconds(22)) == [.connect(.resume)])
    _ = session.connected(at: .seconds(22))
    _ = session.connectAckReceived(resumed: true, refusal: nil, at: .seconds(22))
    session.didRead(at: .seconds(40), until: .seconds(40))
    _ = session.lost(Self.gone, at: .seconds(50))
    #expect(session.tick(isWritten: true, at: .seconds(60)) == [.connect(.wipe)])
  }

  // MARK: Batches

  @Test func oneBatchIsInHandAtATime() {
    var session = online()
    #expect((session.mayRead, session.mayWrite) == (true, true))
    session.received([Self.order])
    #expect((session.mayRead, session.mayWrite) == (false, false))
    #expect(session.acknowledge() == false, "no client has it yet")
    #expect(session.takeEvent() == .deliveries([Self.order]))
    #expect((session.mayRead, session.mayWrite) == (false, false))
    #expect(session.acknowledge() == true)
    #expect(session.acknowledges == true)
    #expect((session.mayRead, session.mayWrite) == (true, true))
    #expect(session.acknowledge() == false)
  }

  @Test func aBatchOfALostConnectionIsNotAcknowledged() {
    var session = online()
    session.received([Self.order])
    _ = session.takeEvent()
    _ = session.lost(Self.gone, at: .zero)
    _ = session.tick(isWritten: true, at: .seconds(1))
    _ = session.connected(at: .seconds(1))
    #expect(session.mayRead == false)
    #expect(session.acknowledge() == true)
    #expect(session.acknowledges == false)
    #expect(session.mayRead == true)
  }

  @Test func anAbandonedBatchIsForgotten() {
    var session = online()
    session.received([Self.order])
    #expect(session.abandon(at: .zero) == [.drop])
    #expect(session.takeEvent() == .offline(.connectionLost("the client closed it")))
    #expect(session.takeEvent() == nil)
  }

  @Test func whatWasReadIsHandedToACallThatIsCancelled() {
    var session = online()
    session.received([Self.order])
    #expect(
      session.eventForWaiter(isCancelled: true, isDue: false) == .some(.deliveries([Self.order])))
    #expect(session.eventForWaiter(isCancelled: true, isDue: false) == .some(nil))
    #expect(session.eventForWaiter(isCancelled: false, isDue: true) == .some(nil))
    #expect(session.eventForWaiter(isCancelled: false, isDue: false) == nil)
  }

  // MARK: Publishing

  @Test func confirmationsAreTold() {
    var session = online()
    for packetID in 1...3 { session.published(packetID: Int32(packetID), on: "t", at: .zero) }
    #expect(session.lastPublished == 3)
    session.acknowledged(packetID: 2, at: .zero)
    #expect((session.confirmed, session.takeEvent()) == (0, nil))
    session.acknowledged(packetID: 1, at: .zero)
    #expect((session.confirmed, session.takeEvent()) == (2, .confirmed))
    #expect(session.takeEvent() == nil)
    session.acknowledged(packetID: 7, at: .zero)
    session.acknowledged(packetID: 3, at: .zero)
    #expect((session.confirmed, session.takeEvent()) == (3, .confirmed))
  }

  @Test func whatIsDroppedIsNeverConfirmed() {
    var session = online()
    session.dropped()
    session.published(packetID: 1, on: "t", at: .zero)
    session.acknowledged(packetID: 1, at: .zero)
    #expect((session.lastPublished, session.confirmed) == (2, 2))
    session.published(packetID: 2, on: "t", at: .zero)
    _ = session.lost(Self.gone, at: .zero)
    session.acknowledged(packetID: 2, at: .zero)
    #expect((session.lastPublished, session.confirmed) == (3, 2))
  }

  @Test func refusalsAreToldWithTheirTopicsOnceForAll() {
    var session = online()
    for (packetID, topic) in [(1, "a"), (2, "b"), (3, "a"), (4, "c")] as [(Int32, String)] {
      session.published(packetID: packetID, on: topic, at: .zero)
    }
    for packetID in 1...3 as ClosedRange<Int32> {
      session.acknowledged(packetID: packetID, refusal: "not authorized", at: .zero)
    }
    session.acknowledged(packetID: 9, refusal: "of a message with QoS 0", at: .zero)
    #expect(session.takeEvent() == .refused(["a": "not authorized", "b": "not authorized"]))
    #expect(session.takeEvent() == nil)
    session.acknowledged(packetID: 4, at: .zero)
    #expect(session.takeEvent() == .confirmed)
  }

  @Test func refusalsWithoutEndAreToldInPortions() {
    var session = online()
    for packetID in 1...(Int32(Session.maximumRefusals) + 1) {
      session.published(packetID: packetID, on: "\(packetID)", at: .zero)
      session.acknowledged(packetID: packetID, refusal: "no", at: .zero)
    }
    guard case .refused(let topics) = session.takeEvent() else {
      Issue.record("nothing is reported")
      return
    }
    #expect(topics.count == Session.maximumRefusals)
    #expect(session.takeEvent() == nil)
  }

  /// (seconds without a confirmation, whether the connection is dropped)
  @Test(arguments: [(20, false), (21, true)])
  func aBrokerThatConfirmsNothingIsLeft(seconds: Int, isLost: Bool) {
    var session = online()
    session.published(packetID: 1, on: "t", at: .zero)
    #expect(session.keepAliveChecked(at: .seconds(seconds)) == (isLost ? [.drop] : []))
  }

  @Test func moreThanPacketIDsCanTellIsTooMuch() {
    var session = online()
    for packetID in 1...Int32(Confirmations.limit) {
      session.published(packetID: packetID, on: "t", at: .zero)
    }
    #expect(session.mayPublish == false)
    #expect(session.willPublish(at: .zero) == [.drop])
    #expect(session.willPublish(at: .zero) == [])
  }

  // MARK: Updates

  @Test func anUpdateTouchesOnlyWhatChanges() {
    var session = online()
    #expect(
      session.update(options { $0.subscriptions = [Self.a, Self.b] }, at: .zero)
        == [.subscribe(2, [Self.b], retainAsPublished: false)])
    #expect(session.takeEvent() == nil)
    #expect(session.granted(2, [1], at: .zero) == [])
    #expect(session.takeEvent() == .updated(refusal: nil))
    #expect(
      session.update(options { $0.subscriptions = [Self.b] }, at: .zero)
        == [.unsubscribe([Self.a])])
    #expect(session.takeEvent() == .updated(refusal: nil))
  }

  @Test func whatOverlapsIsDroppedFirstAndComesBackWithARefusal() {
    let all = TopicFilter(unchecked: "#")
    var session = online()
    #expect(
      session.update(options { $0.subscriptions = [all] }, at: .zero)
        == [.unsubscribe([Self.a]), .subscribe(2, [all], retainAsPublished: false)])
    #expect(
      session.granted(2, [128], at: .zero)
        == [.unsubscribe([all]), .subscribe(3, [Self.a], retainAsPublished: false)])
    #expect(session.takeEvent() == .updated(refusal: .subscriptionRefused(filter: "#")))
    #expect(session.options.subscriptions == [Self.a])
  }

  @Test func anUpdateWithoutAConnectionHoldsAtOnce() {
    var session = connecting()
    #expect(session.update(options { $0.subscriptions = [Self.b] }, at: .zero) == [])
    #expect(session.takeEvent() == .updated(refusal: nil))
    _ = session.connected(at: .zero)
    #expect(
      session.connectAckReceived(resumed: true, refusal: nil, at: .zero)
        == [.unsubscribe([Self.a]), .subscribe(1, [Self.b], retainAsPublished: false)])
  }

  /// A broker could deliver each message once for the old filter and once for the new one.
  @Test func aResumedSessionLosesTheFiltersOfAnEarlierProcess() {
    let all = TopicFilter(unchecked: "#")
    var session = connecting {
      $0.cleanStart = false
      $0.sessionExpiry = .seconds(30)
      $0.formerSubscriptions = [Self.a, all]
    }
    for second in [0, 10] {
      _ = session.connected(at: .seconds(second))
      #expect(
        session.connectAckReceived(resumed: true, refusal: nil, at: .seconds(second)) == [
          .unsubscribe([all]),
          .subscribe(second == 0 ? 1 : 2, [Self.a], retainAsPublished: false),
        ])
      _ = session.lost(Self.gone, at: .seconds(second))
      _ = session.tick(isWritten: true, at: .seconds(10))
    }
  }

  @Test func anUpdateWaitsForWhatWasAskedForBefore() {
    var session = connecting()
    _ = session.connected(at: .zero)
    _ = session.connectAckReceived(resumed: false, refusal: nil, at: .zero)
    #expect(session.update(options { $0.subscriptions = [Self.a, Self.b] }, at: .zero) == [])
    #expect(
      session.granted(1, [1], at: .zero) == [.subscribe(2, [Self.b], retainAsPublished: false)])
    #expect(session.takeEvent() == .sessionBegan)
    #expect(session.takeEvent() == .online)
    _ = session.granted(2, [1], at: .zero)
    #expect(session.takeEvent() == .updated(refusal: nil))
  }

  /// Some brokers end the connection instead of refusing a filter.
  @Test func anUpdateWhoseConnectionEndsIsRefused() {
    var session = online()
    _ = session.update(options { $0.subscriptions = [Self.b] }, at: .zero)
    _ = session.lost(Self.gone, at: .zero)
    #expect(session.takeEvent() == .updated(refusal: Self.gone))
    #expect(session.takeEvent() == .offline(Self.gone))
    _ = session.tick(isWritten: true, at: .seconds(1))
    _ = session.connected(at: .seconds(1))
    #expect(
      session.connectAckReceived(resumed: true, refusal: nil, at: .seconds(1))
        == [.unsubscribe([Self.b]), .subscribe(3, [Self.a], retainAsPublished: false)])
  }

  // MARK: Disconnecting

  @Test func aFarewellEndsWhenTheBrokerHasClosedTheConnection() {
    var session = online()
    #expect(
      session.disconnect(grace: .seconds(5), isWritten: true, at: .zero)
        == [.disconnect(acknowledging: true)])
    #expect(session.isDisconnecting == true)
    #expect(session.eventForWaiter(isCancelled: false, isDue: false) == .some(nil))
    #expect(session.closed() == [.drop, .end])
    #expect(session.closed() == [])
    #expect(session.disconnect(grace: .seconds(5), isWritten: true, at: .zero) == [.end])
  }

  @Test func aFarewellWaitsForTheLastConfirmation() {
    var session = online()
    session.published(packetID: 1, on: "t", at: .zero)
    #expect(session.disconnect(grace: .seconds(5), isWritten: false, at: .zero) == [])
    #expect(session.deadline == .seconds(5))
    session.acknowledged(packetID: 1, at: .zero)
    #expect(session.tick(isWritten: false, at: .seconds(1)) == [])
    #expect(session.tick(isWritten: true, at: .seconds(1)) == [.disconnect(acknowledging: true)])
    #expect(session.tick(isWritten: true, at: .seconds(5)) == [.drop, .end])
  }

  @Test func withoutTheLastConfirmationTheWillSpeaks() {
    var session = online()
    session.published(packetID: 1, on: "t", at: .zero)
    _ = session.disconnect(grace: .seconds(5), isWritten: true, at: .zero)
    #expect(session.tick(isWritten: true, at: .seconds(5)) == [.drop, .end])
  }

  @Test func whereTheLastWordsAreHeldBackTheWillSpeaks() {
    var session = online()
    session.received([Self.order])
    session.published(packetID: 1, on: "t", at: .zero)
    #expect(session.disconnect(grace: .seconds(5), isWritten: false, at: .zero) == [.drop, .end])
  }

  @Test func aBatchInHandIsLeftUnacknowledged() {
    var session = online()
    session.received([Self.order])
    #expect(
      session.disconnect(grace: .seconds(5), isWritten: false, at: .zero)
        == [.disconnect(acknowledging: false)])
  }

  @Test func withoutAConnectionThereIsNoFarewell() {
    var session = connecting()
    #expect(session.disconnect(grace: .seconds(5), isWritten: true, at: .zero) == [.drop, .end])
    #expect(session.deadline == nil)
  }

  // MARK: Malformed packets

  private static let malformed = BrokerError.malformedPacket("x")

  /// Takes a session online on its next connection.
  private func reconnect(_ session: inout Session, at now: Duration) {
    _ = session.tick(isWritten: true, at: now)
    _ = session.connected(at: now)
    _ = session.connectAckReceived(resumed: true, refusal: nil, at: now)
    while session.takeEvent() != nil {}
  }

  @Test func afterTwoMalformedPacketsConnectionsArePlainForAnHour() {
    var session = online()
    for isPlain in [false, true] {
      _ = session.lost(Self.malformed, at: .seconds(10))
      #expect(session.retryTime == .seconds(10), "no delay: other messages wait")
      reconnect(&session, at: .seconds(10))
      let plain = session.isPlain
      #expect(plain == isPlain)
    }
    // A broker that cannot be read at all is not flooded with connections.
    _ = session.lost(Self.malformed, at: .seconds(20))
    #expect(session.retryTime ?? .zero > .seconds(20))
    reconnect(&session, at: .seconds(60))
    var plain = session.isPlain
    #expect(plain)
    _ = session.lost(Self.gone, at: .seconds(3610))
    reconnect(&session, at: .seconds(3660))
    plain = session.isPlain
    #expect(!plain)
  }

  /// Without an outage too, but not while the client decides a batch.
  @Test func afterTwoMalformedPacketsAConnectionThatLastsIsPlainForAnHour() {
    var session = online()
    for number in 2...3 {
      _ = session.lost(Self.malformed, at: .seconds(10))
      reconnect(&session, at: .seconds(10))
      _ = session.granted(number, [1], at: .seconds(10))
    }
    #expect(session.takeEvent() == .online)
    #expect(session.deadline == .seconds(3610))
    session.received([Self.order])
    #expect(session.takeEvent() == .deliveries([Self.order]))
    #expect(session.deadline == nil)
    #expect(session.tick(isWritten: true, at: .seconds(3615)) == [])
    #expect(session.acknowledge() == true)
    #expect(session.tick(isWritten: true, at: .seconds(3620)) == [.drop])
    #expect(session.takeEvent() == .offline(.connectionLost("the time on MQTT 3.1.1 is over")))
    #expect(session.tick(isWritten: true, at: .seconds(3621)) == [.connect(.clean)])
    #expect(session.isPlain == false)
  }

  @Test func oneMalformedPacketBetweenOtherLossesChangesNothing() {
    var session = online()
    for reason in [Self.malformed, Self.gone, Self.malformed] {
      _ = session.lost(reason, at: .seconds(10))
      reconnect(&session, at: .seconds(60))
      let plain = session.isPlain
      #expect(!plain)
    }
  }
}
