import JuiceDomain
import KioskProtocol
import Testing

@Suite struct ProblemTests {
  private static let now = Timestamp(milliseconds: 1_795_251_600_000)

  /// Returns the reports of a kiosk that can sell its whole menu, and of these topics.
  private static func reports(_ topics: [(String, String)], menu: Menu = .standard) -> KioskReports
  {
    var reports = KioskReports()
    let stock = StockReport(
      seq: 1, at: now, fruits: FruitAmounts(menu.fruits.map { ($0.id, 90) }))
    let report = MenuReport(menu: menu, capacities: [:], lowMarks: [:])
    _ = reports.receive(["status"], Array("online".utf8))
    _ = reports.receive(["menu"], report.payload)
    _ = reports.receive(["stock"], stock.payload)
    for (topic, payload) in topics {
      let levels = topic.split(separator: "/").map(String.init)
      let isRead = reports.receive(levels[...], Array(payload.utf8))
      #expect(isRead, "\(topic)")
    }
    return reports
  }

  private static func text(_ reports: KioskReports, _ language: Language) -> ProblemText {
    ProblemText(reports, language) { "\($0)" }
  }

  struct Case: Sendable {
    var topics: [(String, String)]
    var severities: [Problem.Severity]
    var english: [String]
    var korean: [String]
    var remedy: String
  }

  private static let stock =
    #"{"seq":2,"at":"2026-11-21T09:00:00Z","fruits":{"strawberry":90,"banana":90,"pineapple":90,"kiwi":KIWI,"mango":90}MORE}"#

  private static func stock(kiwi: Int = 90, more: String = "") -> (String, String) {
    ("stock", stock.replacing("KIWI", with: "\(kiwi)").replacing("MORE", with: more))
  }

  private static func machine(_ state: String, _ more: String = "") -> (String, String) {
    ("machine/bar", #"{"state":"\#(state)","queue":0,"jobs":[],"ready":[]\#(more)}"#)
  }

  @Test(arguments: [
    Case(topics: [], severities: [], english: [], korean: [], remedy: ""),
    Case(
      topics: [("status", "offline"), machine("fault")], severities: [.sellsNothing],
      english: ["offline"], korean: ["오프라인"], remedy: "check its power and its network"),
    Case(
      topics: [machine("fault", #","reason":"no cups""#)], severities: [.sellsNothing, .sellsLess],
      english: [
        "sells nothing (machine out of order)", "machine bar: out of order (no cups)",
      ],
      korean: ["아무것도 못 팔고 있음 (기계 고장)", "기계 bar: 고장 (no cups)"],
      remedy: "end the causes"),
    // A closed kiosk loses no sales yet.
    Case(
      topics: [("service", "closed"), machine("fault", #","juices":["kiwi"]"#)],
      severities: [.soon, .soon, .note],
      english: [
        "1 of 7 juices not for sale (machine out of order)", "machine bar: out of order", "closed",
      ],
      korean: ["쥬스 7개 중 1개 판매 불가 (기계 고장)", "기계 bar: 고장", "영업 종료"],
      remedy: "end the causes"),
    // Another machine makes its juices.
    Case(
      topics: [
        machine("silent"), ("machine/arm", #"{"state":"idle","queue":0,"jobs":[],"ready":[]}"#),
      ],
      severities: [.soon], english: ["machine bar: does not answer"],
      korean: ["기계 bar: 응답 없음"], remedy: "restart it"),
    Case(
      topics: [
        machine(
          "idle",
          #","programs":[{"program":"clean","due":"hours","manual":true},{"program":"rinse","due":"hours","missing":{"kiwi":2}}]"#
        )
      ], severities: [.soon],
      english: ["machine bar: Clean: due, Rinse: due (missing: Kiwi 2)"],
      korean: ["기계 bar: 세척: 필요, 헹굼: 필요 (부족: 키위 2)"], remedy: "start the program"),
    Case(
      topics: [machine("waiting", #","reason":"no cup""#)], severities: [.decision],
      english: ["machine bar: waits for a person (no cup)"],
      korean: ["기계 bar: 사람을 기다리는 중 (no cup)"], remedy: "do what it waits for"),
    Case(
      topics: [stock(kiwi: 2)], severities: [.sellsLess, .sellsLess],
      english: [
        "1 of 7 juices not for sale (too little Kiwi)",
        "too little Kiwi (not for sale: Kiwi juice)",
      ],
      korean: ["쥬스 7개 중 1개 판매 불가 (키위 모자람)", "키위 모자람 (판매 불가: 키위쥬스)"],
      remedy: "end the causes"),
    Case(
      topics: [("alert/kiwi", "low")], severities: [.note], english: ["Kiwi is low"],
      korean: ["키위 부족"], remedy: "restock it"),
    // Fruit that has expired does not expire soon.
    Case(
      topics: [
        stock(
          more:
            #","expires":{"kiwi":"2026-11-21T12:00:00Z","mango":"2026-11-21T12:00:00Z"},"expired":{"kiwi":7}"#
        )
      ], severities: [.decision, .note],
      english: ["7 Kiwi expired: take it out", "Mango expires 2026-11-21T12:00:00Z"],
      korean: ["키위 7개 만료: 꺼내야 함", "망고 2026-11-21T12:00:00Z 만료 예정"],
      remedy: "take it out, and record it"),
    Case(
      topics: [
        (
          "sensor/fridge",
          #"{"state":"blocked","value":12.5,"unit":"°C","silent":true,"fruits":["kiwi"]}"#
        )
      ], severities: [.sellsLess, .decision],
      english: [
        "2 of 7 juices not for sale (Kiwi blocked by a sensor)",
        "sensor fridge: silent · blocked (12.5 °C, Kiwi)",
      ],
      korean: ["쥬스 7개 중 2개 판매 불가 (키위 센서가 차단)", "센서 fridge: 응답 없음 · 차단됨 (12.5 °C, 키위)"],
      remedy: "end the causes"),
    // Whether it is cold is unknown.
    Case(
      topics: [("sensor/fridge", #"{"state":"unknown","unit":"°C","ignored":3}"#)],
      severities: [.soon],
      english: ["sensor fridge: no reading yet (3 messages without a usable value)"],
      korean: ["센서 fridge: 아직 측정값 없음 (값 없는 메시지 3건)"],
      remedy: "check its battery and its connection"),
    // What the device holds is unknown.
    Case(
      topics: [("payment/till", #"{"state":"idle","needs_inventory":true}"#)], severities: [.soon],
      english: ["payment till: has not reported its charges"],
      korean: ["결제 till: 결제 내역을 아직 알리지 않음"],
      remedy: "check the device, its paper, power and network"),
    Case(
      topics: [("health", #"{"at":"2026-11-21T09:00:00Z","disk_free":9000000}"#)],
      severities: [.soon], english: ["disk: 9 MB free"], korean: ["디스크 9 MB 남음"],
      remedy: "delete old logs or backups, or use a larger disk"),
    Case(
      topics: [
        ("info", #"{"version":"1","started_at":"2026-11-21T09:00:00Z","menu_problem":"damaged"}"#)
      ],
      severities: [.decision], english: ["menu of the chain not in use (damaged)"],
      korean: ["체인 메뉴 적용 안 됨 (damaged)"], remedy: "correct the menu, and send it again"),
  ])
  func eachProblemHasItsCostTextAndRemedy(example: Case) {
    let reports = Self.reports(example.topics)
    let problems = reports.problems(at: Self.now)
    #expect(problems.map(\.severity) == example.severities)
    let (english, korean) = (Self.text(reports, .english), Self.text(reports, .korean))
    #expect(problems.map { english.sentence(about: $0.kind) } == example.english)
    #expect(problems.map { korean.sentence(about: $0.kind) } == example.korean)
    #expect(problems.first.map { english.remedy(of: $0.kind) } ?? "" == example.remedy)
    #expect(problems.allSatisfy { !korean.remedy(of: $0.kind).isEmpty })
    // An offline kiosk's juices are not counted, and a closed one sells them when it opens.
    let unsold = Menu.standard.juices.filter { juice in
      reports.obstacle(to: juice).map { $0 != .closed } ?? false
    }
    #expect(reports.lostJuices.map(\.juice) == (reports.status == .online ? unsold : []))
  }

  /// Fruits become short by the stock, the menu or an alert, whichever arrives last.
  @Test func theOrderOfTheMessagesDoesNotMatter() {
    let menu = MenuReport(menu: .standard, capacities: [:], lowMarks: [:])
    let messages = [
      (["menu"], menu.payload), (["stock"], Array(Self.stock(kiwi: 1).1.utf8)),
      (["alert", "mango"], Array("out".utf8)), (["status"], Array("online".utf8)),
    ]
    for first in messages.indices {
      for last in messages.indices where last != first {
        var reports = KioskReports()
        let others = messages.indices.filter { $0 != first && $0 != last }
        for index in [first] + others + [last] {
          _ = reports.receive(messages[index].0[...], messages[index].1)
        }
        #expect(reports.shortFruits == ["kiwi", "mango"], "\(first) first, \(last) last")
        #expect(
          reports.problems(at: Self.now).map(\.kind) == [.unsold, .out("kiwi"), .out("mango")])
        _ = reports.receive(["alert", "mango"], Array("ok".utf8))
        #expect(reports.shortFruits == ["kiwi"])
      }
    }
  }

  @Test func aDecisionWaitsForEachJobAndCharge() {
    let reports = Self.reports([
      (
        "machine/bar",
        #"{"state":"idle","queue":0,"ready":[],"jobs":[{"job":7,"ticket":3,"juice":"kiwi","quantity":1,"state":"needs_decision","at":"2026-11-21T09:00:00Z"}]}"#
      ),
      (
        "payment/till",
        #"{"state":"idle","charges":[{"charge":17,"amount":350,"currency":"EUR","reason":"no answer","at":"2026-11-21T09:00:00Z"}]}"#
      ),
    ])
    let problems = reports.problems(at: Self.now)
    #expect(problems.map(\.kind) == [.job(7, ticket: 3), .charge(17, ticket: 0)])
    #expect(problems.allSatisfy { $0.severity == .decision && $0.isAlert && !$0.mayRecover })
    let text = Self.text(reports, .english)
    #expect(text.sentence(about: .charge(17, ticket: 0)) == "charge 17 needs a decision (€3.50)")
    #expect(text.title(of: .charge(18, ticket: 4)) == "payment of ticket 4 needs a decision")
  }

  /// The kiosk's own clock decides when fruit expires.
  @Test(arguments: [
    ("20:30", 0, true), ("20:30", -3600, false), ("21:30", 0, false), ("21:30", 3600, true),
  ])
  func theNoticeOfAnExpiryIsByTheClockOfTheKiosk(expiry: String, lead: Int, isNoticed: Bool) {
    var reports = Self.reports([
      Self.stock(more: #","expires":{"kiwi":"2026-11-21T\#(expiry):00Z"}"#)
    ])
    reports.clockLead = .seconds(lead)
    let kinds = reports.problems(at: Self.now).map(\.kind)
    #expect(kinds.contains(.expires("kiwi")) == isNoticed)
  }

  /// Whether the end of a day was right is unknown if it was not compared.
  @Test func aTotalThatWasNotComparedEndsNoDifference() throws {
    let sum = Money(units: 350, try #require(Currency("EUR")))
    var reports = Self.reports([("payment/till", #"{"state":"idle"}"#)])
    func close(_ seq: Int, difference: Int?) {
      let total = PaymentTotal(total: seq, at: Self.now, captured: sum, refunded: sum, count: 1)
      let entry = LedgerEntry(
        seq: seq, epoch: 1, at: Self.now, source: nil, id: nil,
        outcome: .total(total, device: "till", difference: difference))
      _ = reports.receive(["history"], HistoryReport(entries: [entry]).payload)
    }
    close(1, difference: -50)
    close(2, difference: nil)
    #expect(reports.problems(at: Self.now).map(\.kind) == [.difference("till")])
    close(3, difference: 0)
    #expect(reports.problems(at: Self.now).isEmpty)
  }

  /// A problem of which people are notified after some minutes, or not at all.
  @Test(arguments: [
    (("machine/bar", #"{"state":"offline","queue":0,"jobs":[],"ready":[]}"#), [true, true]),
    (("machine/bar", #"{"state":"failing","queue":0,"jobs":[],"ready":[]}"#), [false, false]),
    (("sensor/fridge", #"{"state":"unknown","unit":"°C"}"#), [true]),
    (("sensor/fridge", #"{"state":"alarm","unit":"°C"}"#), [false]),
    (("machine/bar", #"{"state":"waiting","queue":0,"jobs":[],"ready":[]}"#), [false]),
    (("payment/till", #"{"state":"off"}"#), [true]),
    (("payment/till", #"{"state":"off","reason":"no paper"}"#), [false]),
    (("alert/kiwi", "low"), []), (("service", "closed"), []),
    (("health", #"{"at":"2026-11-21T09:00:00Z","disk_free":120000000}"#), []),
    (("health", #"{"at":"2026-11-21T09:00:00Z","disk_free":9000000}"#), [false]),
  ])
  func whatMayEndByItselfIsReportedLater(topic: (String, String), mayRecover: [Bool]) {
    let problems = Self.reports([topic]).problems(at: Self.now)
    #expect(problems.filter(\.isAlert).map(\.mayRecover) == mayRecover)
  }
}
