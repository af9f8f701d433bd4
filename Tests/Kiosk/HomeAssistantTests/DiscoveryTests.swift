import JuiceDomain
import Testing

@testable import HomeAssistant
@testable import KioskProtocol

@Suite struct DiscoveryTests {
  private var discovery = Discovery(
    topics: KioskTopics(root: "kiosk", kiosk: "k1"), language: .english, menu: .standard,
    capacities: FruitAmounts(Menu.standard.fruits.map { (fruit: $0.id, amount: 100) }),
    version: "1.2")

  /// Returns the messages by topic, without the prefix.
  private func messages(_ discovery: Discovery) throws -> [String: JSON] {
    let messages = discovery.messages
    #expect(messages.allSatisfy { $0.topic.hasPrefix("\(discovery.prefix)/") })
    return try Dictionary(
      messages.map {
        (String($0.topic.dropFirst(discovery.prefix.count + 1)), try JSON.parse($0.payload))
      }, uniquingKeysWith: { first, _ in first })
  }

  private func config(_ entity: String) throws -> JSON {
    let levels = entity.split(separator: "/")
    return try #require(try messages(discovery)["\(levels[0])/kiosk_k1/\(levels[1])/config"])
  }

  @Test mutating func theDeviceIsCalledAsTheKioskIs() throws {
    discovery.name = LocalizedName(english: "City hall", korean: "시청", fallback: "City hall")
    for json in try messages(discovery).values {
      #expect(json["device"]?["name"] == .string("City hall"))
    }
    discovery.language = .korean
    #expect(try config("switch/service")["device"]?["name"] == .string("시청"))
  }

  @Test func everyFruitAndJuiceHasItsEntities() throws {
    var expected: Set = [
      "button/refill", "switch/service", "event/order", "sensor/diagnostic_started_at",
    ]
    for fruit in Menu.standard.fruits {
      expected.formUnion(
        ["sensor/stock_\(fruit.id)", "number/set_\(fruit.id)", "binary_sensor/alert_\(fruit.id)"])
    }
    for juice in Menu.standard.juices {
      expected.formUnion(["button/order_\(juice.id)", "sensor/servings_\(juice.id)"])
    }
    for key in try healthKeys() { expected.insert("sensor/diagnostic_\(key)") }
    let topics = try messages(discovery).keys.map { topic in
      let levels = topic.split(separator: "/")
      #expect(levels.count == 4 && levels[1] == "kiosk_k1" && levels[3] == "config")
      return "\(levels[0])/\(levels[2])"
    }
    #expect(Set(topics) == expected)
    #expect(topics.count == expected.count)
  }

  /// Returns the members of `health` that have a sensor. The others are its time, values that other
  /// topics publish in a better form, and the size of the ledger, which is for monitoring.
  private func healthKeys() throws -> [String] {
    let health = KioskHealth(
      at: Timestamp(milliseconds: 0), uptime: 0, counters: KioskHealth.Counters(), memory: 1,
      queue: 0, service: .open, low: 0, out: 0, ledger: 0)
    guard case .object(let members) = try JSON.parse(health.payload) else { return [] }
    let others: Set = [
      "at", "uptime", "service", "low", "out", "machines_down", "undecided", "ledger",
    ]
    return members.map(\.key).filter { !others.contains($0) }
  }

  @Test func whatHomeAssistantNeedsOfEachEntity() throws {
    for (topic, json) in try messages(discovery) {
      let id = "kiosk_k1_\(topic.split(separator: "/")[2])"
      #expect(json["unique_id"] == .string(id))
      #expect(json["object_id"] == .string(id))
      #expect(json["default_entity_id"] == .string("\(topic.split(separator: "/")[0]).\(id)"))
      #expect(
        json["availability"]
          == .array([.object([JSON.Member(key: "topic", value: .string("kiosk/k1/status"))])]))
      #expect(json["availability_mode"] == .string("all"))
      #expect(json["device"]?["identifiers"] == .array([.string("kiosk_k1")]))
      #expect(json["device"]?["name"] == .string("Juice kiosk k1"))
      #expect(json["device"]?["manufacturer"] == .string("Juice Kiosk"))
      #expect(json["device"]?["model"] == .string("juice-kiosk"))
      #expect(json["device"]?["sw_version"] == .string("1.2"))
      #expect(json["origin"]?["name"] == .string("juice-kiosk"))
      #expect(json["qos"] == .integer(1))
      #expect((json["command_topic"] == nil) == (json["retain"] == nil))
      #expect(json["retain"] == nil || json["retain"] == .bool(false))
    }
  }

  @Test func aStockIsShownSetAndWatched() throws {
    let sensor = try config("sensor/stock_kiwi")
    #expect(sensor["name"] == .string("Kiwi stock"))
    #expect(sensor["state_topic"] == .string("kiosk/k1/stock/kiwi"))
    #expect(sensor["state_class"] == .string("measurement"))
    let number = try config("number/set_kiwi")
    #expect(number["state_topic"] == .string("kiosk/k1/stock/kiwi"))
    #expect(number["command_topic"] == .string("kiosk/k1/restock/homeassistant"))
    #expect(number["min"] == .integer(0))
    #expect(number["max"] == .integer(100))
    let alert = try config("binary_sensor/alert_kiwi")
    #expect(alert["state_topic"] == .string("kiosk/k1/alert/kiwi"))
    #expect(alert["device_class"] == .string("problem"))
    #expect(alert["value_template"] == .string("{{ 'OFF' if value == 'ok' else 'ON' }}"))
  }

  /// A capacity that was lowered below the stock. Home Assistant logs an error for each state above
  /// the maximum.
  @Test mutating func theMaximumIsAtLeastTheStock() throws {
    discovery.stock = ["kiwi": 140, "mango": 7]
    #expect(try config("number/set_kiwi")["max"] == .integer(140))
    #expect(try config("number/set_mango")["max"] == .integer(100))
    let template = try config("number/set_mango")["value_template"]
    #expect(template == .string("{{ [value | int(0), 100] | min }}"))
  }

  @Test func theKioskIsOpenedAndClosed() throws {
    let service = try config("switch/service")
    #expect(service["state_topic"] == .string("kiosk/k1/service"))
    #expect(service["command_topic"] == .string("kiosk/k1/service/homeassistant"))
    #expect(service["payload_on"] == .string("open"))
    #expect(service["payload_off"] == .string("closed"))
  }

  @Test func anOrdersOutcomeIsAnEvent() throws {
    let event = try config("event/order")
    #expect(event["state_topic"] == .string("kiosk/k1/events"))
    #expect(
      event["event_types"]
        == .array(
          [
            "ready", "out_of_stock", "rejected", "accepted", "made", "failed", "returned",
            "awaiting_payment", "held", "captured", "released", "refunded", "capture", "release",
            "refund", "kept", "paid_back", "written_off",
          ].map(JSON.string)))
  }

  @Test mutating func aMachineIsWatched() throws {
    #expect(try messages(discovery)["sensor/kiosk_k1/machine_bar/config"] == nil)
    discovery.machines = ["bar"]
    for entity in ["sensor/machine_bar", "sensor/queue_bar", "binary_sensor/problem_bar"] {
      #expect(try config(entity)["state_topic"] == .string("kiosk/k1/machine/bar"))
    }
    #expect(
      try config("sensor/machine_bar")["value_template"]
        == .string("{{ (value_json.state) if value_json is defined else none }}"))
    #expect(try config("sensor/queue_bar")["state_class"] == .string("measurement"))
    let problem = try config("binary_sensor/problem_bar")
    #expect(problem["device_class"] == .string("problem"))
    #expect(problem["json_attributes_topic"] == .string("kiosk/k1/machine/bar"))
    discovery.language = .korean
    #expect(try config("sensor/machine_bar")["name"] == .string("기계 bar"))
  }

  @Test mutating func aPaymentDeviceIsWatched() throws {
    #expect(try messages(discovery)["sensor/kiosk_k1/payment_terminal/config"] == nil)
    discovery.paymentDevices = ["terminal"]
    let entities = [
      "sensor/payment_terminal", "sensor/charges_terminal",
      "binary_sensor/payment_problem_terminal",
    ]
    for entity in entities {
      #expect(try config(entity)["state_topic"] == .string("kiosk/k1/payment/terminal"))
    }
    #expect(try messages(discovery)["sensor/kiosk_k1/taken_terminal/config"] == nil, "no prices")
    discovery.menu = try Menu(
      fruits: Menu.standard.fruits,
      juices: Menu.standard.juices.map {
        Juice(id: $0.id, name: $0.name, recipe: $0.recipe, price: Money(units: 350, .euro))
      })
    let takings = try config("sensor/taken_terminal")
    #expect(takings["unit_of_measurement"] == .string("EUR"))
    #expect(
      takings["value_template"]
        == .string(
          "{{ (((value_json.captured | default(0)) - (value_json.refunded | default(0))) / 100)"
            + " if value_json is defined else none }}"))
    discovery.form = .device
    discovery.paymentDevices = []
    discovery.retainedTopics = ["kiosk/k1/payment/terminal"]
    let former = try components(discovery).map(\.key)
    #expect(former.contains("payment_terminal") && former.contains("taken_terminal"))
    #expect(Set(former).count == former.count)
    // The device stays, and the prices are gone.
    discovery.paymentDevices = ["terminal"]
    discovery.menu = .standard
    #expect(
      try components(discovery).filter { $0.value["name"] == nil }.map(\.key) == ["taken_terminal"])
  }

  @Test mutating func aSensorIsWatched() throws {
    discovery.sensors = ["fridge": .celsius, "tank": .milliliters]
    #expect(
      try config("sensor/sensor_fridge")["unit_of_measurement"] == .string("°C")
        && config("sensor/sensor_tank")["unit_of_measurement"] == .string("mL"))
    #expect(
      try config("binary_sensor/sensor_problem_fridge")["state_topic"]
        == .string("kiosk/k1/sensor/fridge"))
    discovery.sensors = [:]
    discovery.form = .device
    discovery.retainedTopics = ["kiosk/k1/sensor/fridge"]
    #expect(try components(discovery).map(\.key).contains("sensor_problem_fridge"))
  }

  @Test mutating func aFruitWithADateIsWatched() throws {
    let without = try messages(discovery)
    discovery.hasDates = true
    #expect(
      Set(try messages(discovery).keys).subtracting(without.keys)
        == Set(
          ["banana", "kiwi", "mango", "pineapple", "strawberry"]
            .map { "sensor/kiosk_k1/expires_\($0)/config" }
            + ["binary_sensor/kiosk_k1/expired/config"]))
    let expiry = try config("sensor/expires_kiwi")
    #expect(expiry["state_topic"] == .string("kiosk/k1/freshness/kiwi"))
    #expect(expiry["device_class"] == .string("timestamp"))
    #expect(
      expiry["value_template"]
        == .string("{{ (value if 'T' in value else none) or '1970-01-01T00:00:00Z' }}"))
    guard case .array(let conditions) = expiry["availability"] else {
      Issue.record("no conditions")
      return
    }
    #expect(
      conditions.map { $0["topic"] }
        == ["kiosk/k1/status", "kiosk/k1/freshness/kiwi"].map(JSON.string))
    let problem = try config("binary_sensor/expired")
    #expect(problem["state_topic"] == .string("kiosk/k1/stock"))
    #expect(problem["device_class"] == .string("problem"))
    discovery.form = .device
    discovery.retainedTopics = ["kiosk/k1/freshness/kiwi", "kiosk/k1/freshness/lime"]
    func former() throws -> [String] {
      try components(discovery).filter { $0.value["name"] == nil }.map(\.key)
    }
    #expect(try former() == ["expires_lime"])
    discovery.hasDates = false
    #expect(try former() == ["expires_kiwi", "expires_lime", "expired"])
  }

  // MARK: Commands

  /// Returns the command that Home Assistant would publish: the template with values for its
  /// expressions.
  private func request(_ entity: String, _ kind: Command.Kind) throws -> Request {
    let config = try config(entity)
    #expect(config["command_topic"] == .string("kiosk/k1/\(kind.rawValue)/homeassistant"))
    guard case .string(var text) = config["command_template"] else {
      Issue.record("there is no template")
      throw CancellationError()
    }
    for (expression, value) in [
      ("(utcnow().timestamp() * 1000000) | int", "1795251600000000"),
      ("utcnow().isoformat()", "2026-11-21T09:00:00.123456+00:00"), ("value | int", "42"),
    ] {
      text.replace("{{ \(expression) }}", with: value)
    }
    return try Request(kind: kind, payload: Array(text.utf8))
  }

  @Test func aCommandCountsOnceAndNotTooLate() throws {
    let order = try request("button/order_mango_kiwi", .order)
    #expect(order.command == .order(Order(juice: "mango_kiwi")))
    #expect(order.id == "1795251600000000")
    #expect(order.sentAt == Timestamp(milliseconds: 1_795_251_600_123))
    let setting = try request("number/set_kiwi", .restock)
    #expect(setting.command == .restock(Restock(set: ["kiwi": 42])))
    #expect(setting.id != nil && setting.sentAt != nil)
    let refill = try request("button/refill", .restock)
    #expect(refill.command == .restock(Restock(set: discovery.capacities)))
    #expect(refill.id != nil && refill.sentAt != nil)
  }

  @Test mutating func aRefillIsNeverLargerThanACommandMayBe() throws {
    func refill(of count: Int) throws -> Request? {
      discovery.capacities = FruitAmounts(
        (0..<count).compactMap { number in
          Fruit.ID("fruit-with-a-name-number-\(number)").map { (fruit: $0, amount: 1_000_000_000) }
        })
      guard discovery.entities.contains(where: { $0.id == "refill" }) else { return nil }
      return try request("button/refill", .restock)
    }
    var largest = 0
    for count in 80...120 where try refill(of: count) != nil { largest = count }
    #expect((90..<110).contains(largest))
  }

  // MARK: Other kiosks

  @Test mutating func aKoreanKioskSpeaksKorean() throws {
    discovery.language = .korean
    #expect(try config("sensor/stock_kiwi")["name"] == .string("키위 재고"))
    #expect(try config("button/order_strawberry_banana")["name"] == .string("딸바쥬스 주문"))
    #expect(try config("switch/service")["device"]?["name"] == .string("쥬스 키오스크 k1"))
  }

  @Test mutating func anotherAccountCommandsOnItsOwnTopics() throws {
    discovery.account = "ha"
    #expect(
      try config("button/refill")["command_topic"] == .string("kiosk/k1/restock/ha"))
    #expect(
      try config("button/order_kiwi")["command_topic"] == .string("kiosk/k1/order/ha"))
    #expect(
      try config("switch/service")["command_topic"] == .string("kiosk/k1/service/ha"))
  }

  @Test mutating func aNumberWithoutARangeIsLeftOut() throws {
    discovery.capacities["kiwi"] = 0
    #expect(try messages(discovery)["number/kiosk_k1/set_kiwi/config"] == nil)
    #expect(try messages(discovery)["sensor/kiosk_k1/stock_kiwi/config"] != nil)
    discovery.form = .device
    discovery.retainedTopics = ["kiosk/k1/stock/kiwi", "kiosk/k1/stock/mango"]
    let former = try components(discovery).filter { $0.value["name"] == nil }
    #expect(former.map(\.key) == ["set_kiwi"])
    #expect(former.first?.value["platform"] == .string("number"))
  }

  @Test(arguments: [
    ("kiosk", "k1", "kiosk_k1"), ("shop/1", "Kiosk-2", "shop_1_Kiosk-2"), ("가게", "k1", "___k1"),
    ("a½", "k_1", "a__k_1"),
  ])
  mutating func aNodeHasOnlyWhatDiscoveryAllows(root: String, kiosk: String, node: String) throws {
    let id = try #require(KioskID(kiosk))
    discovery.topics = KioskTopics(root: root, kiosk: id)
    #expect(try messages(discovery)["switch/\(node)/service/config"] != nil)
  }

  @Test mutating func anEntityIDHasOnlyWhatHomeAssistantAllows() throws {
    discovery.topics = KioskTopics(root: "kiosk", kiosk: "Front-2")
    let service = try #require(try messages(discovery)["switch/kiosk_Front-2/service/config"])
    #expect(service["unique_id"] == .string("kiosk_Front-2_service"))
    #expect(service["default_entity_id"] == .string("switch.kiosk_front_2_service"))
  }

  @Test mutating func theBirthIsBelowThePrefix() {
    discovery.prefix = "ha/discovery"
    #expect(discovery.birth.topic == "ha/discovery/status")
    #expect(discovery.birth.payload == "online")
  }

  // MARK: The device form

  @Test mutating func oneMessageSaysTheSameOfTheWholeDevice() throws {
    let components = try messages(discovery)
    discovery.form = .device
    let device = try messages(discovery)
    #expect(device.keys.elementsEqual(["device/kiosk_k1/config"]))
    let json = try #require(device.values.first)
    let members = try self.components(discovery)
    #expect(members.count == components.count)
    let shared = ["device", "origin"]
    for member in members {
      guard case .string(let platform) = member.value["platform"],
        case .object(let rest) = member.value,
        case .object(let alone) = components["\(platform)/kiosk_k1/\(member.key)/config"]
      else {
        Issue.record("\(member.key) is no component")
        continue
      }
      let common = try shared.map { JSON.Member(key: $0, value: try #require(json[$0])) }
      #expect(rest.filter { $0.key != "platform" } + common == alone)
    }
  }

  @Test mutating func aProgramHasAButtonAndATime() throws {
    discovery.machines = ["bar"]
    discovery.programs = [ProgramID(machine: "bar", program: .clean)]
    let button = try config("button/clean_bar")
    #expect(button["command_topic"] == .string("kiosk/k1/program/homeassistant"))
    guard case .string(let template) = button["command_template"] else {
      Issue.record("there is no template")
      return
    }
    #expect(template.hasSuffix(#","machine":"bar","program":"clean"}"#))
    let due = try config("sensor/clean_due_bar")
    #expect(due["device_class"] == .string("timestamp"))
    #expect(due["state_topic"] == .string("kiosk/k1/machine/bar"))
    #expect(try messages(discovery)["button/kiosk_k1/rinse_bar/config"] == nil)
  }

  @Test mutating func whatHasLeftTheMenuIsNamedWithItsPlatformAlone() throws {
    discovery.form = .device
    let before = try components(discovery)
    discovery.retainedTopics = [
      "kiosk/k1/stock", "kiosk/k1/stock/kiwi", "kiosk/k1/stock/lime", "kiosk/k1/alert/lime",
      "kiosk/k1/juice/mojito", "kiosk/k1/juice/kiwi", "kiosk/k2/stock/plum",
      "kiosk/k1/machine/arm",
    ]
    let after = try components(discovery)
    #expect(after.prefix(before.count).elementsEqual(before))
    let removals = Dictionary(
      after.dropFirst(before.count).map { ($0.key, $0.value) }, uniquingKeysWith: { $1 })
    func only(_ platform: String) -> JSON {
      .object([JSON.Member(key: "platform", value: .string(platform))])
    }
    #expect(
      removals == [
        "stock_lime": only("sensor"), "set_lime": only("number"),
        "alert_lime": only("binary_sensor"), "order_mojito": only("button"),
        "servings_mojito": only("sensor"), "machine_arm": only("sensor"),
        "clean_arm": only("button"), "clean_due_arm": only("sensor"),
        "rinse_arm": only("button"), "rinse_due_arm": only("sensor"),
        "prime_arm": only("button"), "prime_due_arm": only("sensor"),
        "queue_arm": only("sensor"), "problem_arm": only("binary_sensor"),
      ])
  }

  private func components(_ discovery: Discovery) throws -> [JSON.Member] {
    let json = try #require(try messages(discovery).values.first)
    guard case .object(let members) = json["components"] else {
      Issue.record("there are no components")
      return []
    }
    return members
  }
}
