import Devices
import InMemoryBroker
import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol
import Ledger
import MessageBroker
import Testing

/// Tests reloads of the settings while the kiosk runs.
@Suite struct ReloadTests {
  private let fixture: KioskFixture

  init() throws { fixture = try KioskFixture() }

  private func reload(_ adjust: (inout KioskSettings) throws -> Void) rethrows -> Outcome {
    let outcome = try fixture.reload(adjust)
    fixture.executor.run()
    return outcome
  }

  /// Changes the menu to the standard menu without kiwi, and with oranges.
  private static func orange(_ settings: inout KioskSettings) throws {
    let orange = Fruit(id: "orange", name: LocalizedName(english: "Orange", fallback: "orange"))
    settings.menu = try Menu(
      fruits: Menu.standard.fruits.filter { $0.id != "kiwi" } + [orange],
      juices: Menu.standard.juices.filter { $0.recipe.amounts["kiwi"] == nil } + [
        Juice(
          id: "orange", name: LocalizedName(english: "Orange juice", fallback: "orange"),
          recipe: try Recipe(["orange": 3]))
      ])
    func all(_ amount: Int) -> FruitAmounts {
      FruitAmounts(settings.menu.fruits.map { (fruit: $0.id, amount: amount) })
    }
    settings.stock = KioskSettings.Stock(
      initial: all(30), capacities: all(100), lowMarks: all(5))
  }

  private static func button(
    _ name: String = "hall", on topic: String, debounce: Duration? = nil
  ) -> PanelBinding {
    PanelBinding(
      name: name, dialect: .generic(GenericFormat(action: nil, counter: nil)), topic: topic,
      buttons: ["press": .order(Order(juice: "banana"))], debounce: debounce)
  }

  @Test func anotherMenuIsSoldAndShown() throws {
    try fixture.startKiosk()
    let listener = try fixture.testClient(
      "listener", subscribedTo: ["kiosk/k1/events", "kiosk/k1/status"])
    let panel = try fixture.panel()
    _ = listener.take()
    #expect(try reload(Self.orange).now == .taken)
    // The kiosk has no oranges yet.
    #expect(fixture.retained("stock/orange") == "0")
    fixture.publish(#"{"add":{"orange":30}}"#, to: "kiosk/k1/restock/p1", by: panel)
    fixture.publish("orange", to: "kiosk/k1/order/p1", by: panel)
    fixture.publish("kiwi", to: "kiosk/k1/order/p1", by: panel)
    let results = try panel.takeResults()
    #expect(results.map(\.status) == [.ready, .rejected])
    #expect(results[0].used == ["orange": 3])
    #expect(fixture.retained("stock/orange") == "27")
    #expect(fixture.retained("juice/orange") == "9")
    #expect(fixture.retained("alert/orange") == "ok")
    #expect(fixture.retained("menu")?.contains("Orange juice") == true)
    for topic in ["stock/kiwi", "alert/kiwi", "juice/kiwi", "juice/mango_kiwi"] {
      #expect(fixture.retained(topic) == nil)
    }
    // The other stocks are unchanged: the initial stock is only for a new ledger.
    #expect(fixture.retained("stock/banana") == "10")
    // The kiosk stayed online, and the events have no gap.
    let heard = listener.take()
    #expect(heard.filter { $0.topic == "kiosk/k1/status" }.map(\.text) == ["online"])
    let entries = heard.filter { $0.topic == "kiosk/k1/events" }
    #expect(
      try entries.map { try JSON.parse($0.payload)["seq"] } == [2, 3, 4, 5].map { .integer($0) })
  }

  @Test func aFruitThatComesBackHasTheStockThatItLeftWith() throws {
    try fixture.startKiosk()
    let panel = try fixture.panel()
    fixture.publish("kiwi", to: "kiosk/k1/order/p1", by: panel)
    let before = fixture.settings
    #expect(try reload(Self.orange).now == .taken)
    #expect(reload { $0 = before }.now == .taken)
    #expect(fixture.retained("stock/kiwi") == "7")
    #expect(fixture.retained("stock/orange") == nil)
    #expect(try fixture.ledger { try $0.state() }.stock["orange"] == 0)
  }

  @Test func limitsHoldFromThenOn() throws {
    try fixture.startKiosk()
    let panel = try fixture.panel()
    #expect(
      reload {
        $0.orders.maximumQuantity = 1
        $0.stock.lowMarks = [
          "strawberry": 10, "banana": 0, "pineapple": 0, "kiwi": 0, "mango": 0,
        ]
      }.now == .taken)
    fixture.publish(#"{"juice":"kiwi","quantity":2}"#, to: "kiosk/k1/order/p1", by: panel)
    #expect(try panel.takeResults().map(\.reason) == [.quantityOutOfRange])
    #expect(fixture.retained("alert/strawberry") == "low")
    #expect(fixture.retained("menu")?.contains(#""low":10"#) == true)
  }

  /// A stock between the limits keeps its alert when the limits are read again.
  @Test func anAlertStaysWhatItIs() throws {
    try fixture.startKiosk()
    let panel = try fixture.panel()
    fixture.publish(#"{"set":{"mango":5}}"#, to: "kiosk/k1/restock/p1", by: panel)
    fixture.publish(#"{"set":{"mango":6}}"#, to: "kiosk/k1/restock/p1", by: panel)
    #expect(fixture.retained("alert/mango") == "low")
    #expect(reload { $0.orders.maximumQuantity = 9 }.now == .taken)
    #expect(fixture.retained("alert/mango") == "low")
  }

  @Test(arguments: [1, 2, 1024]) func inTheMidstOfALoadNothingIsLostAndNothingTwice(
    batchLimit: Int
  ) throws {
    fixture.batchLimit = batchLimit
    fixture.settings.stock.initial = FruitAmounts(
      Menu.standard.fruits.map { (fruit: $0.id, amount: 90) })
    fixture.settings.orders.maximumPerSecond = 0
    try fixture.startKiosk()
    let (panel, button) = (try fixture.panel("p1"), try fixture.panel("p2"))
    let usual = fixture.settings
    var outcomes: [Outcome] = []
    for round in 1...20 {
      // No task runs before all messages are submitted.
      let messages = (1...2).map {
        Message(
          topic: "kiosk/k1/order/p1", text: #"{"id":"a\#(round)-\#($0)","juice":"banana"}"#)
      }
      for testClient in [panel, button] {
        let press = Message(topic: "kiosk/k1/order/p2", text: "pineapple")
        let messages = testClient === panel ? messages : [press]
        Task(executorPreference: fixture.executor) { [client = testClient.client] in
          _ = try await client.publish(messages)
        }
      }
      outcomes.append(
        try fixture.reload {
          if round.isMultiple(of: 2) { $0 = usual } else { try Self.orange(&$0) }
        }
      )
      fixture.executor.run()
    }
    #expect(outcomes.allSatisfy { $0.now == .taken })
    #expect(fixture.retained("stock/banana") == "10")
    #expect(fixture.retained("stock/pineapple") == "50")
    let results = try panel.takeResults()
    #expect(Set(results.compactMap(\.id)).count == 40)
    #expect(results.count == 40 && results.allSatisfy { $0.status == .ready })
    #expect(try button.takeResults().count { $0.status == .ready } == 20)
    #expect(fixture.broker.queueDepth(of: "kiosk") == 0)
  }

  @Test func panelsComeAndGoOnTheSameSession() throws {
    fixture.settings.panels = [Self.button(on: "old/button")]
    try fixture.startKiosk()
    let testClient = try fixture.testClient("person")
    let before = fixture.conditions.count
    #expect(reload { $0.panels = [Self.button("door", on: "new/button")] }.now == .taken)
    for topic in ["old/button", "new/button"] {
      fixture.publish("press", to: topic, by: testClient)
    }
    #expect(fixture.retained("stock/banana") == "8")
    fixture.advance(by: .seconds(31))
    // The broker does not even deliver messages of removed subscriptions.
    #expect(fixture.retained("health")?.contains(#""dropped":0"#) == true)
    #expect(
      fixture.conditions[before...].allSatisfy { if case .online = $0 { true } else { false } })
  }

  @Test func aDisplayIsToldWhatItHasToShow() throws {
    let screen = try fixture.testClient("screen", subscribedTo: ["screen"])
    try fixture.startKiosk()
    let display = Display(
      content: .text(Push(topic: "screen", payload: try Template("Kiwi {stock.kiwi}"))))
    #expect(reload { $0.displays = [display] }.now == .taken)
    #expect(screen.take().map(\.text) == ["Kiwi 10"])
  }

  @Test func whatIsNotAnnouncedAnyMoreIsCleared() throws {
    let topic = "homeassistant/switch/kiosk_k1/service/config"
    try fixture.startKiosk()
    let news = Message(topic: topic, text: "{}", retain: true)
    #expect(reload { $0.announcements = [news] }.now == .taken)
    #expect(fixture.broker.retained(topic)?.text == "{}")
    #expect(reload { $0.announcements = [] }.now == .taken)
    #expect(fixture.broker.retained(topic) == nil)
  }

  // MARK: Machines

  private static let bar = KioskSettings.Machine(name: "bar", juices: ["banana"])

  /// Starts a kiosk with a machine that is online. Returns the client of the machine.
  private func startWithABar() throws -> TestClient {
    fixture.settings.machines = [Self.bar]
    try fixture.startKiosk()
    let bar = try fixture.testClient("bar", subscribedTo: ["kiosk/k1/make/bar/#"])
    fixture.publish("online", to: "kiosk/k1/machine/bar/status", by: bar, retain: true)
    return bar
  }

  @Test func aMachineThatIsNewGetsItsJobs() throws {
    try fixture.startKiosk()
    let panel = try fixture.panel()
    let bar = try fixture.testClient("bar", subscribedTo: ["kiosk/k1/make/bar/#"])
    #expect(reload { $0.machines = [Self.bar] }.now == .taken)
    #expect(fixture.retained("juice/banana") == "0")
    fixture.publish("online", to: "kiosk/k1/machine/bar/status", by: bar, retain: true)
    #expect(fixture.retained("juice/banana") == "5")
    #expect(fixture.retained("machine/bar")?.contains(#""state":"idle""#) == true)
    fixture.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    fixture.publish(#"{"job":2,"status":"done"}"#, to: "kiosk/k1/made/bar", by: bar)
    #expect(try panel.takeResults().map(\.status) == [.accepted, .ready])
    #expect(bar.take().map(\.topic) == ["kiosk/k1/make/bar"])
  }

  @Test(arguments: [false, true])
  func aMachineThatHasLeftEndsWhatItHas(byRestart: Bool) throws {
    let bar = try startWithABar()
    let panel = try fixture.panel()
    for _ in 1...2 { fixture.publish("banana", to: "kiosk/k1/order/p1", by: panel) }
    fixture.publish(#"{"job":2,"status":"started"}"#, to: "kiosk/k1/made/bar", by: bar)
    #expect(try panel.takeResults().map(\.status) == [.accepted, .accepted])
    if byRestart {
      fixture.crashKiosk()
      fixture.settings.machines = []
      try fixture.startKiosk()
    } else {
      #expect(reload { $0.machines = [] }.now == .taken)
    }
    // No machine makes later orders.
    fixture.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    #expect(try panel.takeResults().map(\.reason) == [.machineDown])
    fixture.publish(#"{"job":2,"status":"done"}"#, to: "kiosk/k1/made/bar", by: bar)
    #expect(try panel.takeResults().map(\.status) == [.ready])
    // The machine receives no other job.
    #expect(bar.take().filter { $0.topic == "kiosk/k1/make/bar" }.count == 1)
    fixture.advance(by: .seconds(31))
    #expect(try panel.takeResults().map(\.failure) == ["waited_too_long"])
    #expect(fixture.retained("stock/banana") == "8")
  }

  /// The owner takes the machine out for repair.
  @Test(arguments: [[], [KioskSettings.Machine(name: "bar", isEnabled: false, juices: ["banana"])]])
  func theJuicesOfADisabledMachineAreNotSold(without: [KioskSettings.Machine]) throws {
    let bar = try startWithABar()
    let panel = try fixture.panel()
    func order(_ juice: String) throws -> [RejectionReason?] {
      fixture.publish(juice, to: "kiosk/k1/order/p1", by: panel)
      return try panel.takeResults().map(\.reason)
    }
    #expect(reload { $0.machines = without }.now == .taken)
    #expect(try order("banana") == [.machineDown])
    #expect(try order("mango") == [nil], "a juice of no machine is ready")
    #expect(fixture.retained("juice/banana") == "0")
    #expect(fixture.retained("machine/bar")?.contains(#""state":"disabled""#) == true)
    fixture.publish("online", to: "kiosk/k1/machine/bar/status", by: bar, retain: true)
    #expect(reload { $0.orders.maximumQuantity = 9 }.now == .taken)
    fixture.crashKiosk()
    try fixture.startKiosk()
    #expect(try order("banana") == [.machineDown])

    // The machine returns.
    #expect(reload { $0.machines = [Self.bar] }.now == .taken)
    #expect(try order("banana") == [nil])
    #expect(bar.take().map(\.topic) == ["kiosk/k1/make/bar"])
    fixture.publish(#"{"job":5,"status":"done"}"#, to: "kiosk/k1/made/bar", by: bar)
    #expect(try panel.takeResults().map(\.status) == [.ready])

    // Another machine replaces it.
    let arm = KioskSettings.Machine(name: "arm", juices: ["banana", "kiwi"])
    #expect(reload { $0.machines = [arm] }.now == .taken)
    #expect(fixture.retained("machine/bar") == nil)
    #expect(reload { $0.machines = [] }.now == .taken)
    #expect(fixture.retained("machine/bar") == nil && fixture.retained("juice/kiwi") == "0")

    // The owner says that the juices need no machine.
    #expect(reload { $0.machines = [.init(name: "arm", juices: [])] }.now == .taken)
    #expect(reload { $0.machines = [] }.now == .taken)
    #expect(fixture.retained("machine/arm") == nil)
    fixture.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    #expect(try panel.takeResults().map(\.status) == [.ready])
  }

  @Test func whatABrokerRestoresOfAMachineThatHasLeftIsClearedAgain() throws {
    _ = try startWithABar()
    fixture.broker.save()
    #expect(reload { $0.machines = [.init(name: "arm")] }.now == .taken)
    #expect(fixture.retained("machine/bar") == nil)
    fixture.advance(by: .seconds(60))
    fixture.broker.stop()
    fixture.broker.start(restoring: .lastSave)
    #expect(fixture.retained("machine/bar") != nil)
    fixture.advance(by: .seconds(60))
    #expect(fixture.retained("machine/arm") != nil && fixture.retained("machine/bar") == nil)
  }

  @Test func aPersonDecidesOnAJobOfAMachineThatHasLeft() throws {
    let bar = try startWithABar()
    let panel = try fixture.panel()
    fixture.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    fixture.publish(#"{"job":2,"status":"unknown"}"#, to: "kiosk/k1/made/bar", by: bar)
    #expect(reload { $0.machines = [] }.now == .taken)
    #expect(fixture.retained("machine/bar")?.contains(#""state":"needs_decision""#) == true)
    fixture.publish(#"{"job":2,"decision":"give_back"}"#, to: "kiosk/k1/job/desk", by: panel)
    #expect(try panel.takeResults().map(\.status) == [.accepted, .failed])
    #expect(fixture.retained("stock/banana") == "10")
  }

  @Test func aSubscriptionThatTheBrokerRefusesChangesNothing() throws {
    fixture.settings.panels = [Self.button(on: "old/button")]
    try fixture.startKiosk()
    let testClient = try fixture.testClient("person")
    fixture.broker.refuseSubscription(to: try TopicFilter("new/button"))
    let outcome = try reload { settings in
      try Self.orange(&settings)
      settings.panels = [Self.button(on: "new/button")]
      settings.orders.maximumAge = .seconds(5)
    }
    #expect(outcome.now == .refused(.subscriptionRefused(filter: "new/button")))
    fixture.publish("press", to: "old/button", by: testClient)
    #expect(fixture.retained("stock/banana") == "8")
    #expect(fixture.retained("stock/kiwi") == "10")
    #expect(fixture.retained("stock/orange") == nil)
    #expect(try fixture.ledger { try $0.state() }.stock["orange"] == nil)
    // The next connection also uses the old subscriptions, and the old session expiry.
    fixture.crashConnection()
    fixture.publish("press", to: "old/button", by: testClient)
    fixture.advance(by: .seconds(10))
    #expect(fixture.retained("status") == "online")
    #expect(fixture.retained("stock/banana") == "6")
  }

  @Test func withoutABrokerTheNextConnectionHasIt() throws {
    fixture.settings.panels = [Self.button(on: "old/button")]
    try fixture.startKiosk()
    let testClient = try fixture.testClient("person")
    fixture.broker.inject(MemoryBroker.Fault(.before, .connect, of: "kiosk"))
    fixture.broker.cut("kiosk")
    fixture.executor.run()
    #expect(
      try reload {
        try Self.orange(&$0)
        $0.panels = [Self.button(on: "new/button")]
      }.now == .taken)
    fixture.advance(by: .seconds(10))
    for topic in ["old/button", "new/button"] {
      fixture.publish("press", to: topic, by: testClient)
    }
    #expect(fixture.retained("stock/banana") == "8")
    #expect(fixture.retained("stock/orange") == "0")
    fixture.advance(by: .seconds(31))
    #expect(fixture.retained("health")?.contains(#""dropped":0"#) == true)
  }

  /// The new age limit also applies to orders in the broker's queue, on the same connection and on
  /// the next one.
  @Test(arguments: [false, true]) func aShorterAgeHoldsForTheSessionToo(isNext: Bool) throws {
    try fixture.startKiosk()
    let panel = try fixture.panel()
    #expect(reload { $0.orders.maximumAge = .seconds(5) }.now == .taken)
    if isNext {
      fixture.crashConnection()
      fixture.advance(by: .seconds(20))
    }
    fixture.broker.refuseLogins()
    fixture.broker.cut("kiosk")
    fixture.executor.run()
    fixture.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    fixture.advance(by: .seconds(8))
    fixture.broker.refuseLogins(false)
    fixture.advance(by: .seconds(20))
    #expect(fixture.retained("status") == "online")
    #expect(fixture.retained("stock/banana") == "10")
  }

  @Test func aPressIsRecognisedAcrossIt() throws {
    fixture.settings.panels = [Self.button(on: "button", debounce: .seconds(10))]
    try fixture.startKiosk()
    let testClient = try fixture.testClient("person")
    fixture.publish("press", to: "button", by: testClient)
    #expect(reload { $0.orders.maximumQuantity = 5 }.now == .taken)
    fixture.publish("press", to: "button", by: testClient)
    #expect(fixture.retained("stock/banana") == "8")
  }

  /// The press is committed, its acknowledgement is lost, and the settings change before the
  /// redelivery.
  @Test func aRedeliveryIsRecognisedAcrossIt() throws {
    try fixture.startKiosk()
    let panel = try fixture.panel()
    fixture.broker.inject(MemoryBroker.Fault(.before, .puback, of: "kiosk"))
    fixture.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    #expect(try reload(Self.orange).now == .taken)
    fixture.advance(by: .seconds(10))
    #expect(fixture.retained("status") == "online")
    #expect(fixture.retained("stock/banana") == "8")
  }

  /// The session of the process before had the filter `old/#`, and still has it after a crash.
  @Test func aRestartLeavesTheSessionNoFilterOfAPanelThatIsGone() throws {
    fixture.settings.panels = [Self.button(on: "old/#")]
    try fixture.startKiosk()
    let testClient = try fixture.testClient("person")
    #expect(try fixture.ledger { try $0.state() }.subscriptions.contains("old/#"))
    fixture.crashKiosk()
    fixture.settings.panels = [Self.button(on: "old/hall")]
    try fixture.startKiosk()
    fixture.publish("press", to: "old/wall", by: testClient)
    fixture.publish("press", to: "old/hall", by: testClient)
    fixture.advance(by: .seconds(31))
    #expect(fixture.retained("stock/banana") == "8")
    #expect(fixture.retained("health")?.contains(#""dropped":0"#) == true)
    let recorded = try fixture.ledger { try $0.state() }.subscriptions
    #expect(recorded == Set(fixture.settings.subscriptions.map(\.text)))
  }

  @Test func aRemovedSensorThatBlocksIsShownUntilAPersonDecides() throws {
    fixture.settings.sensors = [
      KioskSettings.Sensor(
        name: "fridge", binding: SensorBinding(topic: "t/fridge"), unit: .celsius, maximum: 7000,
        blockAfter: .seconds(60), fruits: ["kiwi"])
    ]
    try fixture.startKiosk()
    let testClient = try fixture.testClient("person")
    fixture.publish("8", to: "t/fridge", by: testClient)
    fixture.advance(by: .seconds(61))
    #expect(reload { $0.sensors = [] }.now == .taken)
    #expect(fixture.retained("sensor/fridge")?.contains("blocked") == true)
    #expect(fixture.retained("health")?.contains(#""sensors_blocked":1"#) == true)
    fixture.publish(
      #"{"sensor":"fridge","decision":"release","word":"4 °C by hand"}"#,
      to: "kiosk/k1/job/anna", by: testClient)
    #expect(fixture.retained("sensor/fridge") == nil)
    #expect(fixture.retained("juice/kiwi") == "3")
  }

  @Test func beforeTheKioskRunsOrAfterItIsNoHarm() throws {
    try fixture.startKiosk()
    fixture.broker.stop()
    let late = fixture.reload { $0.orders.maximumQuantity = 5 }
    fixture.stopKiosk()
    #expect(late.now == .taken || late.now == .stopped)
  }
}

extension Message {
  fileprivate var text: String { String(decoding: payload, as: UTF8.self) }
}
