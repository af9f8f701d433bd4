import JuiceDomain
import KioskProtocol
import Ledger
import MessageBroker
import Testing

@testable import KioskCore

@Suite struct CommandFilterTests {
  private let kiosk: TestKiosk

  init() throws { kiosk = try TestKiosk(settings: .test(orders: .init(maximumPerSecond: 2))) }

  @Test func whatComesTooFastIsRejectedAndNotRecorded() throws {
    let decision = try kiosk.receive(
      .order("banana"), .order(#"{"id":"a1","juice":"banana"}"#),
      .order(#"{"id":"a2","juice":"banana"}"#), .order(#"{"id":"a3","juice":7}"#),
      .order("banana", panel: "p2"))
    #expect(try decision.reasons == [nil, nil, .rateLimited, .rateLimited, nil])
    #expect(try decision.results.map(\.id) == [nil, "a1", "a2", "a3", nil])
    #expect(try decision.results[2].detail == "too many messages in one second: send fewer")
    #expect(decision.transaction.records.count == 3)
    #expect(decision.rejections.map(\.rejection.reason) == [.rateLimited, .rateLimited])
    #expect(kiosk.core.counters.rejected == 2)
    kiosk.pass(.seconds(1))
    #expect(try kiosk.receive(.order(#"{"id":"a2","juice":"banana"}"#)).statuses == [.ready])
    #expect(kiosk.stock["banana"] == 2)
  }

  /// The account of the dashboard may use each name.
  @Test(arguments: [
    (Command.Kind.restock, #"{"add":{"kiwi":1}}"#), (.service, #"{"open":true}"#),
    (.settings, #"{"low":1}"#), (.job, #"{"job":1,"set":"made"}"#),
    (.program, #"{"machine":"bar","program":"rinse"}"#),
  ])
  func operatorsHaveALimitWhateverTheirNames(kind: Command.Kind, payload: String) throws {
    let flood = (1...9).map { number in
      Delivery.message(payload, on: "\(kind)/s\(number)")
    }
    let decision = try kiosk.receive(flood + [.order("banana")])
    let beyond = try decision.reasons.map { $0 == .rateLimited }
    #expect(beyond == [false, false, false, false, true, true, true, true, true, false])
    kiosk.pass(.seconds(1))
    #expect(try kiosk.receive([flood[5]]).reasons != [.rateLimited])
  }

  @Test func otherRulesForgetNothingOfWhatHasCome() throws {
    try kiosk.receive(Delivery(message: Message(topic: "elsewhere", text: "")))
    try kiosk.reload()
    #expect(kiosk.commandFilter.dropped == 1)
  }

  @Test func otherRulesDoNotLiftTheLimits() throws {
    try kiosk.receive(.order("banana"), .order("banana"))
    try kiosk.receive((1...4).map { .message(#"{"low":1}"#, on: "settings/s\($0)") })
    try kiosk.receive((1...100).map { .order("{", panel: "q\($0)") })
    try kiosk.reload()
    #expect(try kiosk.receive(.order("banana")).answers.isEmpty)
    let settings = try kiosk.receive(.message(#"{"low":1}"#, on: "settings/s5"))
    #expect(try settings.reasons == [.rateLimited])
    try kiosk.reload(.test(orders: .init(maximumPerSecond: 3)))
    #expect(try kiosk.receive(.order("banana")).statuses == [.ready])
  }

  /// Answering every message would double a flood.
  @Test func aFloodIsToldAHundredTimesASecondAndCountedInFull() throws {
    let flood = (1...500).map { Delivery.order("{", panel: "p\($0)") }
    let decision = try kiosk.receive(flood + [.restock("{"), .order("banana")])
    #expect(decision.answers.count == CommandFilter.maximumRejectionsPerSecond + 2)
    #expect(try decision.results.suffix(2).map(\.status) == [.rejected, .ready])
    #expect(decision.rejections.count == 501)
    #expect(kiosk.core.counters.rejected == 501)
    #expect(decision.transaction.records.count == 1)
    #expect(try kiosk.receive(.order("{")).answers.isEmpty)
    kiosk.pass(.seconds(1))
    #expect(try kiosk.receive(.order("{")).reasons == [.malformed])
  }

  @Test func whatComesAgainWasLetInOnce() throws {
    let decision = try kiosk.receive(
      (1...5).map { .order("banana", packetID: $0, redelivered: true) })
    #expect(try decision.statuses == Array(repeating: .ready, count: 5))
    #expect(try kiosk.receive(.order("kiwi"), .order("kiwi")).statuses == [.ready, .ready])
  }

  @Test func whatIsNoCommandGetsNoAnswer() throws {
    let topics = ["kiosk/k1/order/p1/result", "kiosk/k1/stock", "kiosk/k2/order/p1", "x"]
    let decision = try kiosk.receive(
      topics.map { Delivery(message: Message(topic: $0, text: "banana")) })
    #expect(decision.answers.isEmpty && kiosk.changes.isEmpty)
    #expect(decision.transaction.isEmpty)
    #expect(kiosk.commandFilter.dropped == 4)
  }

  @Test(arguments: [
    ("", "the last level of the topic is empty: name the panel there"),
    ("a\u{7}", "there is a control character in the name of the panel"),
  ])
  func aPanelWithoutAProperNameIsTold(name: String, detail: String) throws {
    let decision = try kiosk.receive(.order("banana", panel: name))
    #expect(decision.answers.map(\.topic) == ["kiosk/k1/order/\(name)/result"])
    #expect(try decision.reasons == [.malformed])
    #expect(try decision.results.map(\.detail) == [detail])
    #expect(decision.transaction.isEmpty)
  }

  // MARK: Response topics

  @Test(arguments: [
    ("kiosk/k1/order/p1/replies/7", "kiosk/k1/order/p1/replies/7"),
    ("kiosk/k1/order/p1/result", "kiosk/k1/order/p1/result"),
    ("kiosk/k1/order/p1", "kiosk/k1/order/p1/result"),
    ("kiosk/k1/order/p10/replies", "kiosk/k1/order/p1/result"),
    ("kiosk/k1/order/p2/result", "kiosk/k1/order/p1/result"),
    ("kiosk/k1/stock/kiwi", "kiosk/k1/order/p1/result"),
    ("kiosk/k1/restock/p1/x", "kiosk/k1/order/p1/result"),
    ("kiosk/k1/order/p1/+", "kiosk/k1/order/p1/result"),
    ("kiosk/k1/order/p1/a/#", "kiosk/k1/order/p1/result"),
    ("", "kiosk/k1/order/p1/result"),
  ])
  func aResponseTopicCountsOnlyBelowTheSendersOwn(asked: String, answered: String) throws {
    let decision = try kiosk.receive(
      .order("banana", responseTopic: asked, correlationData: [0, 1, 255]))
    #expect(decision.answers.map(\.topic) == [answered])
    #expect(decision.answers.map(\.correlationData) == [[0, 1, 255]])
    #expect(decision.answers.map(\.qos) == [.atLeastOnce])
  }

  @Test func aRestockHasTheSameRule() throws {
    func restock(_ responseTopic: String) -> Delivery {
      Delivery(
        message: Message(
          topic: "kiosk/k1/restock/d", payload: Array(#"{"add":{"kiwi":1}}"#.utf8),
          responseTopic: responseTopic))
    }
    let decision = try kiosk.receive(
      restock("kiosk/k1/restock/d/me"), restock("kiosk/k1/order/d/me"))
    #expect(
      decision.answers.map(\.topic) == ["kiosk/k1/restock/d/me", "kiosk/k1/restock/d/result"])
  }

  @Test func aRepeatIsAnsweredWhereItAsks() throws {
    let order = #"{"id":"a1","juice":"banana"}"#
    try kiosk.receive(.order(order, responseTopic: "kiosk/k1/order/p1/a", correlationData: [1]))
    let again = try kiosk.receive(
      .order(order, responseTopic: "kiosk/k1/order/p1/b", correlationData: [2]))
    #expect(again.answers.map(\.topic) == ["kiosk/k1/order/p1/b"])
    #expect(again.answers.map(\.correlationData) == [[2]])
  }

  @Test func aRejectionAtTheDoorIsAnsweredWhereItAsks() throws {
    let decision = try kiosk.receive(
      .order("", responseTopic: "kiosk/k1/order/p1/a", correlationData: [1]))
    #expect(decision.answers.map(\.topic) == ["kiosk/k1/order/p1/a"])
    #expect(decision.answers.map(\.correlationData) == [[1]])
    #expect(try decision.reasons == [.malformed])
  }
}
