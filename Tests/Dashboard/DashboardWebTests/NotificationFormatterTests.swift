import Fleet
import Foundation
import JuiceDomain
import KioskProtocol
import Testing

@testable import DashboardWeb

@Suite struct NotificationFormatterTests {
  private let now = Timestamp(milliseconds: 1_795_251_600_000)
  private var fleet = KioskFleet(root: "kiosk")

  private func formatter(_ language: Language = .english) -> NotificationFormatter {
    NotificationFormatter(language, baseURL: "https://juice.example")
  }

  private func time(minutes: Int) -> Timestamp {
    Timestamp(milliseconds: now.milliseconds + Int64(minutes) * 60_000)
  }

  private mutating func receive(_ topic: String, _ payload: [UInt8]) {
    fleet.receive(topic: "kiosk/\(topic)", payload: payload, isRetained: true, at: now)
  }

  /// Publishes a kiosk with a name, a menu and a machine.
  private mutating func open() {
    let name = LocalizedName(english: "Town hall", korean: "시청", fallback: "Town hall")
    receive("k1/info", KioskInfo(version: "1", startedAt: now, name: name, place: nil).payload)
    receive("k1/menu", MenuReport(menu: .standard, capacities: [:], lowMarks: [:]).payload)
    let report = MachineReport(state: .fault, reason: "no cups", queue: 0, jobs: [], ready: [])
    receive("k1/machine/bar", report.payload)
    receive("k1/payment/till", PaymentReport(state: .off, reason: "no paper").payload)
    let sum = Money(units: 350, .euro)
    let entry = LedgerEntry(
      seq: 1, epoch: 1, at: now, source: nil, id: nil,
      outcome: .total(
        PaymentTotal(total: 1, at: now, captured: sum, refunded: sum, count: 1), device: "till",
        difference: -50))
    receive("k1/history", HistoryReport(entries: [entry]).payload)
  }

  @Test(arguments: [
    (Alert.noBroker, false, "The dashboard cannot reach its broker", "대시보드가 브로커에 연결하지 못해요"),
    (.noBroker, true, "The broker is reachable again", "브로커에 다시 연결됐어요"),
    (.problem(.offline, at: "k1"), false, "Town hall: offline", "시청: 오프라인"),
    (.problem(.offline, at: "k1"), true, "Town hall: online again", "시청: 다시 온라인"),
    (
      .problem(.machine("bar"), at: "k1"), false, "Town hall: machine bar: out of order (no cups)",
      "시청: 기계 bar: 고장 (no cups)"
    ),
    (
      .problem(.machine("bar"), at: "k1"), true, "Town hall: machine bar works again",
      "시청: 기계 bar 다시 작동"
    ),
    (
      .problem(.job(7, ticket: 3), at: "k1"), false, "Town hall: ticket 3 needs a decision",
      "시청: 3번 주문 확인 필요"
    ),
    (
      .problem(.job(7, ticket: 3), at: "k1"), true, "Town hall: ticket 3 is decided",
      "시청: 3번 주문 확인 완료"
    ),
    (
      .problem(.payment("till"), at: "k1"), false,
      "Town hall: payment till: out of order (no paper)",
      "시청: 결제 till: 고장 (no paper)"
    ),
    (
      .problem(.payment("till"), at: "k1"), true, "Town hall: payment till works again",
      "시청: 결제 till 다시 작동"
    ),
    (
      .problem(.charge(17, ticket: 3), at: "k1"), false,
      "Town hall: payment of ticket 3 needs a decision",
      "시청: 3번 결제 확인 필요"
    ),
    (
      .problem(.charge(17, ticket: 0), at: "k1"), true, "Town hall: charge 17 is decided",
      "시청: 결제 17 확인 완료"
    ),
    (
      .problem(.difference("till"), at: "k1"), false,
      "Town hall: end of day of till differs −€0.50",
      "시청: till 마감 금액 차이 −€0.50"
    ),
    (
      .problem(.difference("till"), at: "k1"), true, "Town hall: end of day of till is right",
      "시청: till 마감 금액 일치"
    ),
    (.problem(.out("kiwi"), at: "k1"), false, "Town hall: Kiwi is out", "시청: 키위 품절"),
    (.problem(.out("kiwi"), at: "k1"), true, "Town hall: Kiwi is back in stock", "시청: 키위 다시 채워짐"),
    (.problem(.out("fig"), at: "k2"), false, "k2: fig is out", "k2: fig 품절"),
    (
      .problem(.expires("kiwi"), at: "k1"), true, "Town hall: Kiwi: nothing expires soon",
      "시청: 키위: 곧 만료될 것 없음"
    ),
    (
      .problem(.expired("kiwi"), at: "k1"), true, "Town hall: expired Kiwi is taken out",
      "시청: 만료된 키위 꺼냄"
    ),
  ])
  mutating func eachAlertHasItsWords(
    connectionError: Alert, isResolved: Bool, english: String, korean: String
  ) {
    open()
    let transitions = AlertEvaluator.Transition(connectionError, isResolved: isResolved, since: now)
    #expect(formatter().notification(of: [transitions], in: fleet, at: now).subject == english)
    #expect(
      formatter(.korean).notification(of: [transitions], in: fleet, at: now).subject == korean)
  }

  @Test mutating func juicesWithoutFruitAreNotSaidToBeForSale() {
    open()
    receive("k1/status", Array("online".utf8))
    receive("k1/stock", StockReport(seq: 2, at: now, fruits: ["kiwi": 0]).payload)
    let over = AlertEvaluator.Transition(.problem(.unsold, at: "k1"), isResolved: true, since: now)
    #expect(
      formatter().notification(of: [over], in: fleet, at: now).subject
        == "Town hall: all juices with enough fruit are for sale again")
  }

  /// The kiosk cleared the topic of a device that was removed: nothing is right or works again.
  @Test(arguments: [
    Alert.problem(.machine("bar"), at: "k1"), .problem(.payment("bar"), at: "k1"),
    .problem(.difference("bar"), at: "k1"),
    .problem(.sensor("bar"), at: "k1"),
  ])
  mutating func aRemovedDeviceIsNotSaidToBeRight(alert: Alert) {
    open()
    receive("k1/machine/bar", [])
    let transition = AlertEvaluator.Transition(alert, isResolved: true, since: now)
    #expect(
      formatter().notification(of: [transition], in: fleet, at: now).subject
        == "Town hall: bar was removed")
  }

  /// The kiosk clears the topic of `clock`, and of a sensor that is no longer configured, when the
  /// block ends.
  @Test(
    arguments: [
      ("clock", SensorStep.Kind.release, "sensor clock was released", "센서 시계 차단 해제됨"),
      ("clock", .ok, "the block of sensor clock is over", "센서 시계 차단 끝남"),
      ("clock", .blocked, "the block of sensor clock is over", "센서 시계 차단 끝남"),
      ("fridge", .release, "sensor fridge was released", "센서 fridge 차단 해제됨"),
      ("fridge", .blocked, "fridge was removed", "fridge 제거됨"),
    ] as [(SensorID, SensorStep.Kind, String, String)])
  mutating func aReleasedSensorIsNotSaidToBeRemoved(
    sensor: SensorID, last: SensorStep.Kind, english: String, korean: String
  ) {
    open()
    let entries = [(2, SensorStep.Kind.blocked), (3, last)].map { seq, kind in
      LedgerEntry(
        seq: seq, epoch: 1, at: now,
        source: kind == .release ? Source(kind: .job, name: "anna") : nil, id: nil,
        outcome: .sensor(SensorStep(kind, of: sensor, value: nil, unit: .seconds)))
    }
    receive("k1/history", HistoryReport(entries: entries).payload)
    let transition = AlertEvaluator.Transition(
      .problem(.sensor(sensor), at: "k1"), isResolved: true, since: now)
    func subject(_ language: Language) -> String {
      formatter(language).notification(of: [transition], in: fleet, at: now).subject
    }
    #expect(subject(.english) == "Town hall: \(english)")
    #expect(subject(.korean) == "시청: \(korean)")
  }

  @Test mutating func itSaysWhatExpires() {
    open()
    let time = Timestamp(milliseconds: now.milliseconds + 20 * 3_600_000)
    let stock = StockReport(
      seq: 1, at: now, fruits: [:], expires: ["mango": time], expired: ["kiwi": 7])
    receive("k1/stock", stock.payload)
    func subject(_ alert: Alert, isResolved: Bool = false) -> String {
      let transitions = AlertEvaluator.Transition(alert, isResolved: isResolved, since: now)
      return formatter().notification(of: [transitions], in: fleet, at: now).subject
    }
    #expect(
      subject(.problem(.expired("kiwi"), at: "k1")) == "Town hall: 7 Kiwi expired: take it out")
    #expect(
      subject(.problem(.expires("kiwi"), at: "k1"), isResolved: true)
        == "Town hall: Kiwi has expired")
    #expect(
      subject(.problem(.expires("mango"), at: "k1")) == "Town hall: Mango expires Nov 22 05:00")
  }

  @Test mutating func itSaysWhatCannotBeSold() {
    open()
    let stock: FruitAmounts = [
      "strawberry": 10, "banana": 9, "pineapple": 2, "kiwi": 0, "mango": 3,
    ]
    receive("k1/stock", StockReport(seq: 1, at: now, fruits: stock).payload)
    receive(
      "k1/machine/mixer",
      Array(#"{"state":"idle","queue":0,"out":["kiwi"],"jobs":[],"ready":[]}"#.utf8))
    func subject(_ alert: Alert, _ language: Language = .english) -> String {
      formatter(language).notification(
        of: [AlertEvaluator.Transition(alert, since: now)], in: fleet, at: now
      ).subject
    }
    #expect(
      subject(.problem(.out("strawberry"), at: "k1"))
        == "Town hall: too little Strawberry (not for sale: Strawberry juice)")
    #expect(
      subject(.problem(.out("kiwi"), at: "k1"))
        == "Town hall: Kiwi is out (not for sale: Kiwi juice, Mango kiwi juice)")
    #expect(
      subject(.problem(.out("strawberry"), at: "k1"), .korean) == "시청: 딸기 모자람 (판매 불가: 딸기쥬스)")
    #expect(subject(.problem(.machine("mixer"), at: "k1")) == "Town hall: machine mixer: no Kiwi")
  }

  @Test mutating func eachHasItsLinkAndSaysHowLong() {
    open()
    let transitions = [
      AlertEvaluator.Transition(.problem(.offline, at: "k2"), since: now),
      AlertEvaluator.Transition(.problem(.out("kiwi"), at: "k1"), since: time(minutes: 19)),
      AlertEvaluator.Transition(
        .problem(.offline, at: "k1"), isResolved: true, since: time(minutes: -60)),
    ]
    let notification = formatter().notification(of: transitions, in: fleet, at: time(minutes: 20))
    #expect(notification.subject == "k2: offline (and 2 more)")
    #expect(
      notification.text == """
        k2: offline, for 20 min
        https://juice.example/kiosks/k2

        Town hall: Kiwi is out, for 1 min
        https://juice.example/kiosks/k1?fruit=kiwi

        Town hall: online again, after 1 h 20 min
        https://juice.example/kiosks/k1
        """)
    let korean = formatter(.korean).notification(of: transitions, in: fleet, at: time(minutes: 20))
    #expect(korean.subject == "k2: 오프라인 외 2건")
    #expect(korean.text.contains("시청: 다시 온라인, 1시간 20분 만에\n"))
    // The dashboard has found the alert when it started.
    let found = AlertEvaluator.Transition(
      .problem(.out("kiwi"), at: "k1"), since: now, isEarlier: true)
    for (language, words) in [
      (Language.english, "Town hall: Kiwi is out, for at least 7 min\n"), (.korean, ", 7분 이상\n"),
    ] {
      let text = formatter(language).notification(of: [found], in: fleet, at: time(minutes: 7)).text
      #expect(text.contains(words))
    }
    let over = AlertEvaluator.Transition(
      .problem(.out("kiwi"), at: "k1"), isResolved: true, since: now, isEarlier: true)
    for (language, words) in [
      (Language.english, ", after at least 7 min\n"), (.korean, ", 최소 7분 만에\n"),
    ] {
      let text = formatter(language).notification(of: [over], in: fleet, at: time(minutes: 7)).text
      #expect(text.contains(words))
    }
  }

  @Test func aMessageHasAnEnd() {
    let transitions = (0..<1000).map {
      AlertEvaluator.Transition(.problem(.job($0, ticket: $0), at: "k1"), since: now)
    }
    let text = formatter().notification(of: transitions, in: fleet, at: now).text
    #expect(text.count { $0 == "\n" } < 125)
    #expect(text.hasSuffix("and 960 more\nhttps://juice.example/"))
  }

  @Test(arguments: [
    NotificationFormatter.MaximumLength.bytes(4_096), .characters(2_000),
  ])
  func aMessageFitsItsReceiver(length: NotificationFormatter.MaximumLength) throws {
    for (count, age) in [(1, 0), (39, 400), (40, 0), (41, 0), (200, 400)] {
      let transitions = (0..<count).map {
        AlertEvaluator.Transition(
          .problem(.offline, at: KioskID("kiosk-\($0)") ?? "k"), since: time(minutes: -90))
      }
      let all = formatter(.korean).notification(of: transitions, in: fleet, at: now)
      let message = formatter(.korean).fitting(
        formatter(.korean).markedAsLate(all, age: .seconds(age)), in: length)
      switch length {
      case .bytes(let limit): #expect(message.text.utf8.count <= limit)
      case .characters(let limit): #expect(message.text.utf16.count <= limit)
      }
      let listed = message.text.components(separatedBy: "/kiosks/").count - 1
      #expect(count < 200 || listed < count)
      #expect(
        listed == count || message.text.hasSuffix("그 외 \(count - listed)건\nhttps://juice.example/"))
      #expect(message.text.hasPrefix("6분 전 메시지예요.") == (age > 0))
      #expect(message.subject == all.subject && message.id == all.id)
    }
    let test = formatter().test(at: now)
    #expect(test.text.hasPrefix("This is a test message") && !test.text.contains("·"))
    #expect(formatter().fitting(test, in: length) == test)
  }

  @Test mutating func whatAKioskSaysStaysOnItsLine() {
    let hostile = "kiwi\\r\\nBcc: x@example.com\\u2028\\u202e\\u001b[31m"
    let menu =
      #"{"fruits":[{"id":"kiwi","name":{"en":"\#(hostile)"}}],"juices":[{"id":"kiwi","recipe":{"kiwi":3}}]}"#
    receive("k1/menu", Array(menu.utf8))
    let transitions = AlertEvaluator.Transition(.problem(.out("kiwi"), at: "k1"), since: now)
    let notification = formatter().notification(of: [transitions], in: fleet, at: now)
    #expect(notification.subject.contains("Bcc: x@example.com"))
    #expect(notification.text.split(whereSeparator: \.isNewline).count == 2)
    #expect(!notification.subject.unicodeScalars.contains { $0.value < 0x20 || $0 == "\u{202E}" })
  }

  @Test func aMessageThatIsLateSaysSo() {
    let notification = Notification(at: now, subject: "k1: offline", text: "k1: offline")
    #expect(formatter().markedAsLate(notification, age: .seconds(299)) == notification)
    let late = formatter().markedAsLate(notification, age: .seconds(125 * 60))
    #expect(late.text == "This message is 2 h 5 min old.\n\nk1: offline")
    #expect(late.id == notification.id)
  }
}
