import Devices
import Foundation
import JuiceDomain
import KioskCore
import KioskProtocol
import Testing
import TimeZones

@testable import KioskDaemon
@testable import YAMLConfiguration

@Suite struct AcceptanceTests {
  private func parse(
    _ yaml: String, file: String = "k.yaml", environment: [String: String] = [:]
  ) throws -> KioskConfiguration {
    try KioskConfiguration.parse(yaml: yaml, file: file, environment: environment)
  }

  @Test(arguments: [
    "", "# nothing\n", "---\n", "{}", "kiosk:\nbroker:\nmenu:\n", "\u{FEFF}menu: {}",
    "kiosk: {id: k1}\r\nmenu: {}\r\n",
  ])
  func whatIsLeftOutHasItsDefault(yaml: String) throws {
    #expect(try parse(yaml) == KioskConfiguration())
  }

  @Test func everyKeyIsRead() throws {
    var expected = KioskConfiguration()
    expected.kiosk.id = "shop-1"
    expected.kiosk.name = LocalizedName(english: "City hall", korean: "시청", fallback: "City hall")
    expected.kiosk.place = "1 Main Street"
    expected.kiosk.region = "Seoul"
    expected.kiosk.root = "seoul/juice"
    expected.kiosk.language = .korean
    expected.kiosk.timeZone = try #require(WallClock("Asia/Seoul"))
    expected.broker.host = "::1"
    expected.broker.port = 8884
    expected.broker.protocol = .v311
    expected.broker.clientID = "controller"
    expected.broker.username = "juice"
    expected.broker.passwordFile = "/etc/password"
    var tls = BrokerConfiguration.TLS()
    tls.caFile = "/etc/ca.crt"
    tls.certificateFile = "conf/kiosk.crt"
    tls.keyFile = "conf/keys/kiosk.key"
    expected.broker.tls = tls
    expected.ledgerPath = "conf/ledger.sqlite"
    expected.stock.initial = [
      "strawberry": 20, "banana": 7, "pineapple": 7, "kiwi": 7, "mango": 7,
    ]
    expected.stock.capacities = [
      "strawberry": 100, "banana": 100, "pineapple": 100, "kiwi": 50, "mango": 100,
    ]
    expected.stock.lowMarks = [
      "strawberry": 0, "banana": 0, "pineapple": 0, "kiwi": 0, "mango": 0,
    ]
    expected.orders.maximumAge = .seconds(60)
    expected.orders.maximumQuantity = 3
    expected.orders.debounce = .milliseconds(250)
    expected.orders.maximumPerSecond = 0
    expected.homeAssistant.isEnabled = true
    expected.homeAssistant.prefix = "ha/discovery"
    expected.homeAssistant.form = .device
    expected.homeAssistant.account = "ha"
    expected.machines = [KioskSettings.Machine(name: "bar")]
    expected.sensors = [
      KioskSettings.Sensor(
        name: "fridge", binding: SensorBinding(topic: "z/f", value: JSONPointer("/t")),
        unit: .celsius, minimum: -500, maximum: 7000, alarmAfter: .seconds(60),
        blockAfter: .seconds(120), silentAfter: .seconds(300), fruits: ["kiwi"], machines: ["bar"])
    ]
    let yaml = """
      kiosk:
        {id: shop-1, root: seoul/juice, language: ko, time_zone: Asia/Seoul, place: 1 Main Street,
         region: Seoul, name: {en: City hall, ko: 시청}}
      broker:
        host: '[::1]'
        port: 8884
        protocol: 3.1.1
        client_id: controller
        username: juice
        password_file: /etc/password
        tls: {ca_file: /etc/ca.crt, certificate_file: kiosk.crt, key_file: keys/kiosk.key}
      ledger: {path: ledger.sqlite}
      stock: {initial: {strawberry: 20, default: 7}, capacity: {kiwi: 50}, low: 0}
      orders: {max_age_seconds: 60, max_quantity: 3, debounce_milliseconds: 250, max_per_second: 0}
      home_assistant: {enabled: true, prefix: ha/discovery, form: device, account: ha}
      machines: [{name: bar}]
      sensors:
        - {name: fridge, topic: z/f, value: /t, unit: °C, min: -0.5, max: 7, alarm_after_seconds: 60,
           block_after_seconds: 120, silent_after_seconds: 300, fruits: [kiwi], machines: [bar]}
      """
    #expect(try parse(yaml, file: "conf/kiosk.yaml") == expected)
  }

  @Test func aNameMayBeTheSameInAllLanguages() throws {
    #expect(try parse("kiosk: {name: 시청}").kiosk.name?[.english] == "시청")
    #expect(try parse("kiosk: {name: {ko: 시청}}").kiosk.name?[.english] == "시청")
    let variables = ["KIOSK_KIOSK_NAME": "Harbour", "KIOSK_KIOSK_PLACE": "Pier 7"]
    let kiosk = try parse("kiosk: {name: {ko: 시청}}", environment: variables).kiosk
    #expect(kiosk.name?[.korean] == "Harbour")
    #expect(kiosk.place == "Pier 7")
  }

  @Test func aNameHasUpTo64Characters() throws {
    let name = String(repeating: "쥬", count: 64)
    #expect(try parse("kiosk: {name: \(name)}").kiosk.name?[.korean] == name)
    let place = String(repeating: "쥬", count: 200)
    #expect(try parse("kiosk: {place: \(place)}").kiosk.place == place)
  }

  @Test(
    arguments: [
      ("5", .v5), ("\"5\"", .v5), ("3.1.1", .v311), ("'3.1.1'", .v311),
    ] as [(String, BrokerConfiguration.ProtocolVersion)])
  func protocolVersion(text: String, version: BrokerConfiguration.ProtocolVersion) throws {
    #expect(try parse("broker: {protocol: \(text)}").broker.protocol == version)
  }

  @Test func theClientIDFollowsTheKiosk() throws {
    #expect(try parse("kiosk: {id: k2}").broker.clientID == "juice-kiosk-k2")
  }

  @Test(arguments: ["tls: {}", "tls:", "tls: {ca_file: a}"])
  func withTLSThePortIs8883(yaml: String) throws {
    #expect(try parse("broker:\n  \(yaml)").broker.port == 8883)
    #expect(try parse("broker:\n  port: 1\n  \(yaml)").broker.port == 1)
  }

  @Test func homeAssistantMayListenNextToTheKiosk() throws {
    let section = "home_assistant: {enabled: true, prefix: kiosk/k10}"
    #expect(try parse(section).homeAssistant.prefix == "kiosk/k10")
    let variable = ["KIOSK_HOME_ASSISTANT_ENABLED": "true"]
    #expect(try parse("", environment: variable).homeAssistant.isEnabled)
  }

  @Test func aliasesAreRead() throws {
    let stock = try parse("stock: {initial: &all {default: 7}, low: *all}").stock
    #expect(stock.initial == stock.lowMarks)
  }

  // MARK: The menu

  @Test func aMenuExtendsTheBuiltInOne() throws {
    let menu = try parse(
      """
      menu:
        base: standard
        fruits:
          {orange: {en: Orange, ko: 오렌지, crate: 12}, mango: Mangue,
           kiwi: {crate: 30, keeps_hours: 72, cost: 0.4}}
        currency: EUR
        juices:
          orange: {en: Orange juice, ko: 오렌지쥬스, recipe: {orange: 3, mango: 1}}
          banana: {recipe: {banana: 1}}
          kiwi: {en: Green juice}
      """
    ).menu
    #expect(menu.fruits.map(\.crate) == [nil, nil, nil, 30, nil, 12])
    #expect(menu.fruits.map(\.keepsHours) == [nil, nil, nil, 72, nil, nil])
    #expect(menu.fruits[3].cost == Money("0.40", .euro))
    #expect(menu.fruits[3].name == Menu.standard.fruits[3].name)
    #expect(menu.fruits[4].name[.korean] == "Mangue")
    #expect(menu.fruits.map(\.id) == Menu.standard.fruits.map(\.id) + ["orange"])
    #expect(menu.juices.map(\.id) == Menu.standard.juices.map(\.id) + ["orange"])
    #expect(menu.juice("orange")?.name[.korean] == "오렌지쥬스")
    #expect(menu.juice("orange")?.recipe.amounts == ["orange": 3, "mango": 1])
    #expect(menu.juice("banana")?.recipe.amounts == ["banana": 1])
    #expect(menu.juice("banana")?.name[.korean] == "바나나쥬스")
    #expect(menu.juice("kiwi")?.name[.korean] == "Green juice")
    #expect(menu.juice("kiwi")?.recipe.amounts == ["kiwi": 3])
  }

  @Test(
    arguments: [
      ("EUR", "3.50", "3.50 EUR"), ("EUR", "3.5", "3.50 EUR"), ("EUR", "0", "0.00 EUR"),
      ("KRW", "3500", "3500 KRW"), ("KWD", "1.005", "1.005 KWD"), ("EUR", "0.1", "0.10 EUR"),
      ("EUR", "1000000000", "1000000000.00 EUR"), ("'USD'", "2.29", "2.29 USD"),
    ])
  func aJuiceMayHaveAPrice(currency: String, price: String, expected: String) throws {
    let menu = try parse(
      "menu: {base: standard, currency: \(currency), juices: {kiwi: {price: \(price)}}}"
    ).menu
    #expect(menu.juice("kiwi")?.price?.description == expected)
    #expect(menu.juice("kiwi")?.recipe == Menu.standard.juice("kiwi")?.recipe)
    #expect(menu.juice("mango")?.price == nil)
  }

  @Test func aMenuReplacesTheBuiltInOneAndItsStock() throws {
    let configuration = try parse(
      """
      menu: {fruits: {apple: Apfel, no: {}}, juices: {apple: {ko: 사과쥬스, recipe: {apple: 4}}}}
      stock: {initial: {no: 3}}
      """)
    #expect(configuration.menu.fruits.map { $0.name[.korean] } == ["Apfel", "no"])
    #expect(configuration.menu.juices.map { $0.name[.english] } == ["사과쥬스"])
    #expect(configuration.stock.initial == ["apple": 10, "no": 3])
  }

  // MARK: Machines

  @Test func everyKeyOfAMachineIsRead() throws {
    let machines = try parse(
      """
      machines:
        - {name: bar}
        - name: arm
          juices: [kiwi, mango]
          at_once: 2
          start_seconds: 5
          finish_seconds: 60
          on_failure: keep
        - {name: tap, enabled: false, juices: []}
      """
    ).machines
    #expect(
      machines == [
        KioskSettings.Machine(name: "bar"),
        KioskSettings.Machine(
          name: "arm", juices: ["kiwi", "mango"], atOnce: 2, startLimit: .seconds(5),
          finishLimit: .seconds(60), returnsFruit: false),
        KioskSettings.Machine(name: "tap", isEnabled: false, juices: []),
      ])
    #expect(machines[0].returnsFruit && machines[0].makes("strawberry"))
  }

  @Test func everyKeyOfAProgramIsRead() throws {
    let programs = try parse(
      """
      hours: {mon: "07:00-22:00"}
      machines:
        - name: bar
          programs:
            clean:
              every_hours: 24
              every_glasses: 200
              idle_hours: 2
              at: closing
              automatic: false
              finish_seconds: 60
              uses: {kiwi: 1, mango: 2}
              grace_minutes: 0
            prime: {}
      """
    ).machines[0].programs
    var clean = KioskSettings.Machine.Program()
    (clean.every, clean.everyGlasses, clean.idle) = (.seconds(86_400), 200, .seconds(7_200))
    (clean.at, clean.isAutomatic, clean.finishLimit) = (.closing, false, .seconds(60))
    (clean.uses, clean.grace) = (["kiwi": 1, "mango": 2], .zero)
    #expect(programs == [.clean: clean, .prime: KioskSettings.Machine.Program()])
    #expect(programs[.prime]?.grace == .seconds(3_600) && programs[.prime]?.isAutomatic == true)
  }

  @Test(arguments: ["machines:", "machines: []"]) func thereMayBeNone(yaml: String) throws {
    #expect(try parse(yaml).machines == [])
  }

  // MARK: Payment

  @Test func everyKeyOfAPaymentIsRead() throws {
    let payment = try parse(
      """
      panels: [{name: bench, device: tasmota, topic: t, buttons: {single: kiwi}, pays: false}]
      payment:
        pay_seconds: 60
        free_panels: [staff]
        devices:
          - {name: terminal}
          - {name: coins, enabled: false, panels: [p1, p2]}
      """
    ).payment
    #expect(
      payment
        == KioskSettings.Payment(
          devices: [
            KioskSettings.Payment.Device(name: "terminal"),
            KioskSettings.Payment.Device(name: "coins", panels: ["p1", "p2"], isEnabled: false),
          ], payLimit: .seconds(60), freePanels: ["staff", "bench"]))
    #expect(try parse("{}").payment == nil)
  }

  // MARK: The environment

  @Test func variablesOverrideTheFile() throws {
    let configuration = try parse(
      "broker: {port: what, host: a}\nstock: {low: {kiwi: 1}}", file: "conf/k.yaml",
      environment: [
        "KIOSK_KIOSK_ID": "0755", "KIOSK_BROKER_PORT": "1884", "KIOSK_BROKER_TLS_CA_FILE": "ca.crt",
        "KIOSK_STOCK_LOW": "3", "KIOSK_LOG_LEVEL": "debug", "HOME": "/root",
      ])
    #expect(configuration.kiosk.id == "0755")
    #expect(configuration.broker.host == "a")
    #expect(configuration.broker.port == 1884)
    #expect(configuration.broker.tls?.caFile == "ca.crt")
    #expect(configuration.stock.lowMarks.allSatisfy { $0.amount == 3 })
  }

  @Test(arguments: [
    (
      "KIOSK_BROKER_PRT", "1",
      "KIOSK_BROKER_PRT: there is no such setting; did you mean 'KIOSK_BROKER_PORT'?"
    ),
    (
      "KIOSK_BROKER_PASSWORD", "hunter2",
      "KIOSK_BROKER_PASSWORD: there is no such setting; did you mean 'KIOSK_BROKER_PASSWORD_FILE'?"
    ),
    (
      "KIOSK_BROKER_PORT", "mqtt",
      "KIOSK_BROKER_PORT: broker.port: must be a whole number from 1 to 65535, not 'mqtt'"
    ),
    ("KIOSK_BROKER_HOST", "", "KIOSK_BROKER_HOST: broker.host: is empty; unset it"),
    (
      "KIOSK_BROKER_TLS_KEY_FILE", "a",
      "KIOSK_BROKER_TLS_KEY_FILE: broker.tls.key_file: works only together with "
        + "'certificate_file'; add it"
    ),
    (
      "KIOSK_STOCK_CAPACITY", "9",
      "KIOSK_STOCK_CAPACITY: stock.initial: 10 is more than the capacity of 9 "
        + "(banana, kiwi, mango, pineapple, strawberry); lower 'initial' or raise 'capacity'"
    ),
  ])
  func wrongVariable(name: String, value: String, message: String) {
    #expect(errors("", environment: [name: value]) == [message])
  }

  /// The variables of Kubernetes for the services `kiosk`, `kiosk-broker` and `kiosk-uplink`.
  @Test func variablesOfServicesAreIgnored() throws {
    var environment: [String: String] = [:]
    for name in ["KIOSK", "KIOSK_BROKER", "KIOSK_UPLINK"] {
      environment.merge([
        "\(name)_SERVICE_HOST": "10.96.0.12", "\(name)_SERVICE_PORT": "1883",
        "\(name)_SERVICE_PORT_MQTT_TLS": "8883", "\(name)_PORT": "tcp://10.96.0.12:1883",
        "\(name)_PORT_1883_TCP": "tcp://10.96.0.12:1883", "\(name)_PORT_1883_TCP_PROTO": "tcp",
        "\(name)_PORT_1883_TCP_PORT": "1883", "\(name)_PORT_1883_TCP_ADDR": "10.96.0.12",
        "\(name)_PORT_53_UDP": "udp://10.96.0.12:53",
      ]) { first, _ in first }
    }
    let parsed = try KioskConfiguration.parse(
      yaml: "", file: "k.yaml", environment: environment)
    #expect(parsed == KioskConfiguration())
    #expect(ServiceLinks.names(in: environment) == environment.keys.sorted())
    #expect(ServiceLinks.names(in: ["MY_SERVICE_HOST": "a"]).isEmpty)
  }

  @Test(arguments: ["KIOSK_PORT", "KIOSK_BROKR_PORT", "KIOSK_SERVICE", "KIOSK_SERVICE_HOSTS"])
  func otherUnknownVariablesAreErrors(name: String) {
    #expect(errors("", environment: [name: "1883"]).count == 1)
  }

  @Test func noVariableOfAKeyIsTakenForOneOfAService() {
    for path in KioskConfiguration.settings {
      let name = DiagnosticCollector.variableName(path)
      #expect(ServiceLinks.names(in: [name: "1883"]).isEmpty, "\(name)")
    }
  }
}
