import Testing

@testable import KioskDaemon
@testable import YAMLConfiguration

/// Tests invalid configurations with the exact message to the owner.
@Suite struct RejectionTests {
  /// The kiosk does not receive longer topics.
  @Test(arguments: [
    ("kiosk: {root: TOPIC}", "1:9: kiosk.root", 160, 24),
    ("displays: [{topic: TOPIC, text: x}]", "1:13: displays.1.topic", 384, 28),
    (
      "panels: [{name: p, device: generic, topic: TOPIC, buttons: {single: kiwi}}]",
      "1:37: panels.1.topic", 512, 32
    ),
  ])
  func longTopic(yaml: String, place: String, bytes: Int, levels: Int) {
    func found(_ topic: String) -> [String] { errors(yaml.replacing("TOPIC", with: topic)) }
    let long = String(repeating: "t", count: bytes)
    #expect(found(long) == [])
    #expect(found(long + "t") == ["k.yaml:\(place): must not be longer than \(bytes) bytes"])
    let deep = Array(repeating: "t", count: levels).joined(separator: "/")
    #expect(found(deep) == [])
    #expect(found(deep + "/t") == ["k.yaml:\(place): must not have more than \(levels) levels"])
  }

  @Test(arguments: [
    ("brokr: {}", "k.yaml:1:1: brokr: there is no such key; did you mean 'broker'?"),
    (
      "broker:\n  prot: 1",
      "k.yaml:2:3: broker.prot: there is no such key; did you mean 'port'?"
    ),
    (
      "broker: {password: hunter2}",
      "k.yaml:1:10: broker.password: there is no such key; did you mean 'password_file'?"
    ),
    (
      "ledger: {sqlite: x}",
      "k.yaml:1:10: ledger.sqlite: there is no such key; known here: path"
    ),
    (
      "recipes: []",
      "k.yaml:1:1: recipes: there is no such key; known here: "
        + "kiosk, broker, uplink, ledger, orders, home_assistant, menu, stock, hours, panels, "
        + "machines, sensors, payment, displays"
    ),
    (
      "broker: {\"a\\e[2J\": 1}",
      "k.yaml:1:10: broker.a?[2J: there is no such key; known here: "
        + "host, tls, port, protocol, client_id, username, password_file"
    ),
  ])
  func unknownKey(yaml: String, message: String) {
    #expect(errors(yaml) == [message])
  }

  @Test(arguments: [
    ("- kiosk", "k.yaml: must hold keys, each on a line of its own like 'key: value'"),
    (
      "broker: 127.0.0.1",
      "k.yaml:1:1: broker: must hold keys, each on a line of its own like 'key: value'"
    ),
    (
      "broker: {host: [a]}",
      "k.yaml:1:10: broker.host: must be a single value, not a list or keys of its own"
    ),
    (
      "broker: {host: }", "k.yaml:1:10: broker.host: has no value; write one, or leave the line out"
    ),
    ("broker: {host: ''}", "k.yaml:1:10: broker.host: must not be empty"),
    (
      "broker: {host: \"a\\nb\"}",
      "k.yaml:1:10: broker.host: must be one line without control characters"
    ),
    ("broker: {? [a] : 1}", "k.yaml:1:12: broker: a key must be a word"),
    (
      "broker: {host: !secret x}",
      "k.yaml:1:10: broker.host: a tag ('!...') is not supported; leave it out"
    ),
    (
      "broker: {port: '1883'}",
      "k.yaml:1:10: broker.port: must be a whole number from 1 to 65535, not text; "
        + "remove the quotes"
    ),
    (
      "broker: {port: mqtt}",
      "k.yaml:1:10: broker.port: must be a whole number from 1 to 65535, not text"
    ),
    (
      "broker: {port: 01883}",
      "k.yaml:1:10: broker.port: must be a whole number from 1 to 65535, not '01883'; "
        + "leave out the leading zero, YAML reads it as octal"
    ),
    (
      "broker: {port: 0x75B}",
      "k.yaml:1:10: broker.port: must be a whole number from 1 to 65535, not '0x75B'"
    ),
    (
      "broker: {port: 1_883}",
      "k.yaml:1:10: broker.port: must be a whole number from 1 to 65535, not '1_883'"
    ),
    (
      "orders: {max_age_seconds: 1:30}",
      "k.yaml:1:10: orders.max_age_seconds: must be a whole number from 1 to 86400, not '1:30'"
    ),
    (
      "orders: {max_age_seconds: 0.5}",
      "k.yaml:1:10: orders.max_age_seconds: must be a whole number from 1 to 86400, not '0.5'"
    ),
    (
      "kiosk: {id: no}",
      "k.yaml:1:9: kiosk.id: must be text, but YAML reads 'no' as true or false; "
        + "put it in quotes: \"no\""
    ),
    (
      "kiosk: {name: [City hall]}",
      "k.yaml:1:9: kiosk.name: must be a single value, not a list or keys of its own"
    ),
    (
      "kiosk: {name: {}}",
      "k.yaml:1:9: kiosk.name: has no language; write it like '{en: City hall}'"
    ),
    (
      "kiosk: {name: {kr: 시청}}",
      "k.yaml:1:16: kiosk.name.kr: there is no such key; did you mean 'ko'?"
    ),
    (
      "kiosk: {name: {en: \(String(repeating: "a", count: 65))}}",
      "k.yaml:1:16: kiosk.name.en: must not be longer than 64 characters"
    ),
    (
      "kiosk: {name: \"a\\u202Eb\"}",
      "k.yaml:1:9: kiosk.name: must be one line without control characters"
    ),
    (
      "kiosk: {place: \(String(repeating: "쥬", count: 201))}",
      "k.yaml:1:9: kiosk.place: must not be longer than 200 characters"
    ),
    (
      "kiosk: {place: 37.566}",
      "k.yaml:1:9: kiosk.place: must be text, but YAML reads '37.566' as a number; "
        + "put it in quotes: \"37.566\""
    ),
    (
      "broker: {username: 0755}",
      "k.yaml:1:10: broker.username: must be text, but YAML reads '0755' as a number; "
        + "put it in quotes: \"0755\""
    ),
    (
      "broker: {client_id: 2026-11-21}",
      "k.yaml:1:10: broker.client_id: must be text, but YAML reads '2026-11-21' as a date; "
        + "put it in quotes: \"2026-11-21\""
    ),
  ])
  func wrongType(yaml: String, message: String) {
    #expect(errors(yaml) == [message])
  }

  @Test(arguments: [
    ("broker: {port: 0}", "broker.port: must be a whole number from 1 to 65535, not 0"),
    ("broker: {port: 65536}", "broker.port: must be a whole number from 1 to 65535, not 65536"),
    (
      "broker: {port: 99999999999999999999}",
      "broker.port: must be a whole number from 1 to 65535, not 99999999999999999999"
    ),
    (
      "orders: {max_quantity: 1001}",
      "orders.max_quantity: must be a whole number from 1 to 1000, not 1001"
    ),
    ("stock: {low: -1}", "stock.low: must be a whole number from 0 to 1000000000, not -1"),
    ("broker: {protocol: 4}", "broker.protocol: must be 5 or 3.1.1, not '4'"),
    ("broker: {protocol: 5.0}", "broker.protocol: must be 5 or 3.1.1, not '5.0'"),
    ("kiosk: {language: no}", "kiosk.language: must be en or ko, not 'no'"),
    (
      "kiosk: {id: a b}",
      "kiosk.id: 'a b' cannot be an id; use 1 to 64 of the letters A-Z a-z 0-9 _ -"
    ),
    ("kiosk: {root: a/+}", "kiosk.root: must not hold the wildcard '+'"),
    ("kiosk: {root: 'a#'}", "kiosk.root: must not hold the wildcard '#'"),
    // A combining character makes it another `Character`, but the broker compares bytes.
    ("kiosk: {root: \"a/+\u{34E}\"}", "kiosk.root: must not hold the wildcard '+'"),
    (
      "kiosk: {root: $SYS}",
      "kiosk.root: must not start with '$'; such topics belong to the broker"
    ),
    ("kiosk: {root: a//b}", "kiosk.root: 'a//b' has an empty level; write it like 'shop/kiosk'"),
    ("kiosk: {root: a/}", "kiosk.root: 'a/' has an empty level; write it like 'shop/kiosk'"),
    (
      "kiosk: {time_zone: Mars/Phobos}",
      "kiosk.time_zone: there is no time zone 'Mars/Phobos'; write it like 'Asia/Seoul' or 'UTC'"
    ),
    (
      "kiosk: {time_zone: seoul}",
      "kiosk.time_zone: there is no time zone 'seoul'; did you mean 'Asia/Seoul'?"
    ),
    (
      "broker: {host: 'mqtt://a'}",
      "broker.host: 'mqtt://a' is not a host; write its name or address only, like 'broker.local'"
    ),
    (
      "broker: {host: 'a:1883'}",
      "broker.host: 'a:1883' contains a port; write that under 'port'"
    ),
    (
      "broker: {host: '[::1]:1883'}",
      "broker.host: '[::1]:1883' contains a port; write that under 'port'"
    ),
    ("home_assistant: {enabled: yes}", "home_assistant.enabled: must be true or false, not 'yes'"),
    ("home_assistant: {enabled: 1}", "home_assistant.enabled: must be true or false, not '1'"),
    (
      "home_assistant: {enabled: 'true'}",
      "home_assistant.enabled: must be true or false, not text; remove the quotes"
    ),
    (
      "home_assistant: {form: both}",
      "home_assistant.form: must be components or device, not 'both'"
    ),
    ("ledger: {path: ~/a}", "ledger.path: '~' is not expanded here; write the whole path"),
  ])
  func wrongValue(yaml: String, message: String) throws {
    let error = try #require(errors(yaml).first)
    #expect(errors(yaml).count == 1)
    #expect(error.hasSuffix(": " + message) && error.hasPrefix("k.yaml:1:"), "\(error)")
  }

  @Test(arguments: [
    (
      "broker: {password_file: a}",
      "k.yaml:1:10: broker.password_file: a password needs an account; add 'username'"
    ),
    (
      "broker: {tls: {key_file: a}}",
      "k.yaml:1:16: broker.tls.key_file: works only together with 'certificate_file'; add it"
    ),
    (
      "stock: {initial: 101}",
      "k.yaml:1:9: stock.initial: 101 is more than the capacity of 100 "
        + "(banana, kiwi, mango, pineapple, strawberry); lower 'initial' or raise 'capacity'"
    ),
    (
      "stock: {capacity: {kiwi: 9}}",
      "k.yaml:1:20: stock.initial: 10 is more than the capacity of 9 (kiwi); "
        + "lower 'initial' or raise 'capacity'"
    ),
    (
      "stock: {low: {default: 101, kiwi: 3}}",
      "k.yaml:1:15: stock.low: 101 is more than the capacity of 100 "
        + "(banana, mango, pineapple, strawberry); lower 'low' or raise 'capacity'"
    ),
    (
      "stock: {low: {kiwis: 1}}",
      "k.yaml:1:15: stock.low.kiwis: the menu has no such fruit; did you mean 'kiwi'?"
    ),
    (
      "home_assistant: {prefix: kiosk/k1}",
      "k.yaml:1:18: home_assistant.prefix: is among the kiosk's own topics; "
        + "leave it out, or write another"
    ),
    (
      "kiosk: {id: a}\n\nkiosk: {}",
      "k.yaml:1:1: 'kiosk' is given twice; keep one of them"
    ),
    (
      "menu: {juices: {5: {}, '5': {}}}",
      "k.yaml:1:24: menu.juices.5: '5' is given twice; "
        + "keep one of them"
    ),
  ])
  func contradiction(yaml: String, message: String) {
    #expect(errors(yaml).contains(message), "\(errors(yaml))")
  }

  @Test(arguments: [
    (
      "{base: none}",
      "menu: there is no juice; list at least one, or leave the menu out for the built-in one"
    ),
    ("{base: standrd}", "menu.base: must be none or standard, not 'standrd'"),
    ("{juice: {}}", "menu.juice: there is no such key; did you mean 'juices'?"),
    (
      "{base: standard, juices: {a: {recipe: {oragne: 1}}}}",
      "menu.juices.a.recipe.oragne: the menu has no such fruit; "
        + "known here: strawberry, banana, pineapple, kiwi, mango"
    ),
    (
      "{base: standard, juices: {a: {recipe: {mnago: 1}}}}",
      "menu.juices.a.recipe.mnago: the menu has no such fruit; did you mean 'mango'?"
    ),
    (
      "{base: standard, juices: {a: {recipe: {mango: 0}}}}",
      "menu.juices.a.recipe.mango: must be a whole number from 1 to 1000000000, not 0"
    ),
    (
      "{base: standard, juices: {a: {en: A}}}",
      "menu.juices.a.recipe: the recipe is empty; name at least one fruit"
    ),
    (
      "{base: standard, juices: {a/b: {recipe: {mango: 1}}}}",
      "menu.juices.a/b: 'a/b' cannot be an id; use 1 to 64 of the letters A-Z a-z 0-9 _ -"
    ),
    (
      "{base: standard, fruits: {default: Any}}",
      "menu.fruits.default: this id is reserved: 'stock' uses it for all other fruits"
    ),
    (
      "{base: standard, juices: {kiwi: {price: 3.50}}}",
      "menu.juices.kiwi.price: has no currency; add one to the menu, like 'currency: EUR'"
    ),
    (
      "{base: standard, currency: Euro, juices: {kiwi: {price: x}}}",
      "menu.currency: 'Euro' is not the code of a currency; "
        + "write three capital letters, like EUR or KRW"
    ),
    (
      "{base: standard, currency: EUR, juices: {kiwi: {price: 3.505}}}",
      "menu.juices.kiwi.price: must be an amount of EUR from 0 to 1000000000 "
        + "with at most 2 decimals, not '3.505'"
    ),
    (
      "{base: standard, currency: KRW, juices: {kiwi: {price: 3.5}}}",
      "menu.juices.kiwi.price: must be an amount of KRW from 0 to 1000000000 "
        + "without decimals, not '3.5'"
    ),
    (
      "{base: standard, currency: EUR, juices: {kiwi: {price: -1}}}",
      "menu.juices.kiwi.price: must be an amount of EUR from 0 to 1000000000 "
        + "with at most 2 decimals, not '-1'"
    ),
    (
      "{base: standard, currency: EUR, juices: {kiwi: {price: 1000000000.01}}}",
      "menu.juices.kiwi.price: must be an amount of EUR from 0 to 1000000000 "
        + "with at most 2 decimals, not '1000000000.01'"
    ),
    (
      "{base: standard, currency: EUR, juices: {kiwi: {price: '3.50'}}}",
      "menu.juices.kiwi.price: must be an amount of EUR from 0 to 1000000000 "
        + "with at most 2 decimals, not text; remove the quotes"
    ),
    (
      "{base: standard, currency: EUR, juices: {kiwi: {price: '3,50'}}}",
      "menu.juices.kiwi.price: must be an amount of EUR from 0 to 1000000000 "
        + "with at most 2 decimals, not text; write a point instead of the decimal comma"
    ),
    (
      "{base: standard, currency: EUR, juices: {kiwi: {price: 3,50}}}",
      "menu.juices.kiwi.50: there is no such key; is the comma in 'price' a decimal comma? "
        + "write a point: 3.50"
    ),
    (
      "{base: standard, currency: EUR, juices: {kiwi: {price: 1e2}}}",
      "menu.juices.kiwi.price: must be an amount of EUR from 0 to 1000000000 "
        + "with at most 2 decimals, not '1e2'"
    ),
    (
      "{base: standard, currency: EUR, juices: {kiwi: {price: .inf}}}",
      "menu.juices.kiwi.price: must be an amount of EUR from 0 to 1000000000 "
        + "with at most 2 decimals, not '.inf'"
    ),
    (
      "{base: standard, fruits: {kiwi: {crate: 0}}}",
      "menu.fruits.kiwi.crate: must be a whole number from 1 to 10000, not 0"
    ),
    (
      "{base: standard, fruits: {kiwi: {keeps_hours: 0}}}",
      "menu.fruits.kiwi.keeps_hours: must be a whole number from 1 to 8760, not 0"
    ),
    (
      "{base: standard, fruits: {kiwi: {cost: 0.40}}}",
      "menu.fruits.kiwi.cost: has no currency; add one to the menu, like 'currency: EUR'"
    ),
    (
      "{base: standard, juices: {kiwi: {recipe: {}}}}",
      "menu.juices.kiwi.recipe: the recipe is empty; name at least one fruit"
    ),
    (
      "{base: standard, fruits: {a: {kr: A}}}",
      "menu.fruits.a.kr: there is no such key; did you mean 'ko'?"
    ),
  ])
  func menu(yaml: String, message: String) {
    let errors = errors("menu: \(yaml)")
    #expect(errors.count == 1 && errors[0].hasSuffix(": " + message), "\(errors)")
  }

  @Test(arguments: [
    ("bar", "machines: must be a list of at most 10000, each starting with '- '"),
    ("[bar]", "machines.1: must hold keys, each on a line of its own like 'key: value'"),
    ("[{juices: [kiwi]}]", "machines.1.name: is missing"),
    (
      "[{name: bar, juices: [kiwis]}]",
      "machines.1.juices: there is no juice 'kiwis' on the menu; did you mean 'kiwi'?"
    ),
    (
      "[{name: a/b}]",
      "machines.1.name: 'a/b' cannot be an id; use 1 to 64 of the letters A-Z a-z 0-9 _ -"
    ),
    ("[{name: bar}, {name: bar}]", "machines.2.name: there is a machine of this name already"),
    ("[{name: bar, juices: kiwi}]", "machines.1.juices: must be a list; write it like '[a, b]'"),
    (
      "[{name: bar, at_once: 0}]",
      "machines.1.at_once: must be a whole number from 1 to 100, not 0"
    ),
    (
      "[{name: bar, start_seconds: 3601}]",
      "machines.1.start_seconds: must be a whole number from 1 to 3600, not 3601"
    ),
    (
      "[{name: bar, finish_seconds: 0}]",
      "machines.1.finish_seconds: must be a whole number from 1 to 86400, not 0"
    ),
    (
      "[{name: bar, on_failure: throw}]",
      "machines.1.on_failure: must be return or keep, not 'throw'"
    ),
    (
      "[{name: bar, programs: {cleans: {}}}]",
      "machines.1.programs.cleans: there is no such key; did you mean 'clean'?"
    ),
    (
      "[{name: bar, programs: {clean: {every_hours: 0}}}]",
      "machines.1.programs.clean.every_hours: must be a whole number from 1 to 8760, not 0"
    ),
    (
      "[{name: bar, programs: {clean: {uses: {water: 1}}}}]",
      "machines.1.programs.clean.uses.water: there is no such fruit on the menu; known here: "
        + "strawberry, banana, pineapple, kiwi, mango"
    ),
    (
      "[{name: bar, programs: {clean: {at: noon}}}]",
      "machines.1.programs.clean.at: must be opening or closing, not 'noon'"
    ),
    (
      "[{name: bar, programs: {clean: {at: closing}}}]",
      "machines.1.programs.clean.at: the kiosk has no opening hours; configure 'hours', or omit it"
    ),
    (
      "[{name: bar, programs: {rinse: {grace_minutes: 5}}}]",
      "machines.1.programs.rinse.grace_minutes: there is no such key; known here: every_hours, "
        + "every_glasses, idle_hours, at, automatic, finish_seconds, uses"
    ),
    (
      "[{name: bar, onfailure: keep}]",
      "machines.1.onfailure: there is no such key; did you mean 'on_failure'?"
    ),
  ])
  func machines(yaml: String, message: String) {
    let errors = errors("machines: \(yaml)")
    #expect(errors.count == 1 && errors[0].hasSuffix(": " + message), "\(errors)")
  }

  private static let sensor = "name: a, topic: t, unit: g"

  @Test(arguments: [
    ("{topic: t, unit: g, min: 1}", ".name: is missing"),
    ("{name: a, unit: g, min: 1}", ".topic: is missing"),
    ("{name: a, topic: t, min: 1}", ".unit: is missing"),
    ("{name: a, topic: t/+, unit: g, min: 1}", ".topic: must not hold the wildcard '+'"),
    (
      "{name: a, topic: kiosk/k1/x, unit: g, min: 1}",
      ".topic: is one of the kiosk's own topics below kiosk/k1; bind the device's topic, or one "
        + "below kiosk/k1/measure"
    ),
    ("{name: a, topic: t, unit: F, min: 1}", ".unit: must be °C or ml or g, not 'F'"),
    ("{name: a, topic: t, unit: s, min: 1}", ".unit: must be °C or ml or g, not 's'"),
    ("{name: clock, topic: t, unit: g, min: 1}", ".name: is the name of the kiosk's own sensor"),
    (
      "{\(sensor), min: 1, alarm_after_seconds: 0}",
      ".alarm_after_seconds: must be a whole number from 10 to 86400, not 0"
    ),
    ("{\(sensor)}", ": a sensor needs a limit; add min or max"),
    ("{\(sensor), min: 2, max: 2}", ".min: must be less than 'max'"),
    ("{\(sensor), min: '2'}", ".min: must be a number from -1000 to 1000000, not '2'"),
    ("{\(sensor), min: .nan}", ".min: must be a number from -1000 to 1000000, not '.nan'"),
    (
      "{name: a, topic: t, unit: °C, max: 200}",
      ".max: must be a number from -60 to 150, not '200'"
    ),
    (
      "{\(sensor), min: 1, fruits: [kiwis]}",
      ".fruits: there is no fruit 'kiwis'; did you mean 'kiwi'?"
    ),
    ("{\(sensor), min: 1, machines: [bar]}", ".machines: there is no machine 'bar'"),
    ("{\(sensor), min: 1, key: /id}", ".key: needs both 'key' and 'device'; key: /id, device: 240"),
    (
      "{\(sensor), min: 1, device: 240}",
      ".device: needs both 'key' and 'device'; key: /id, device: 240"
    ),
    (
      "{\(sensor), min: 1, value: x}",
      ".value: 'x' is not a JSON pointer; write it like '/event/action'"
    ),
    (
      "{\(sensor), min: 1, block_after_seconds: 900}",
      ".block_after_seconds: blocks nothing; add fruits or machines"
    ),
    (
      "{\(sensor), min: 1, fruits: [kiwi], block_after_seconds: 599}",
      ".block_after_seconds: must not be less than 'alarm_after_seconds'"
    ),
    (
      "{\(sensor), min: 1, silent_after_seconds: 59}",
      ".silent_after_seconds: must be a whole number from 60 to 604800, not 59"
    ),
  ])
  func sensors(yaml: String, message: String) {
    let errors = errors("sensors: [\(yaml)]")
    #expect(errors.count == 1 && errors[0].hasSuffix(": sensors.1" + message), "\(errors)")
  }

  @Test func twoSensorsOfOneName() {
    let sensor = "{\(Self.sensor), min: 1}"
    #expect(
      errors("sensors: [\(sensor), \(sensor)]").map { $0.hasSuffix("of this name already") } == [
        true
      ])
  }

  @Test(arguments: [
    ("{}", "payment: a payment needs devices; write them like 'devices: [{name: terminal}]'"),
    ("{devices: [{}]}", "payment.devices.1.name: is missing"),
    (
      "{devices: [{name: a}, {name: a}]}",
      "payment.devices.2.name: there is a payment device of this name already"
    ),
    (
      "{devices: [{name: a}], pay_seconds: 4}",
      "payment.pay_seconds: must be a whole number from 5 to 300, not 4"
    ),
    (
      "{device: a}",
      "payment.device: there is no such key; did you mean 'devices'?"
    ),
  ])
  func payment(yaml: String, message: String) {
    let errors = errors("payment: \(yaml)")
    #expect(errors.contains { $0.hasSuffix(": " + message) }, "\(errors)")
  }

  @Test func oneErrorIsNotReportedAsSeveral() {
    let yaml = """
      menu: {fruits: {a: [1]}, juices: {a: {recipe: {a: 1}}}}
      stock: {initial: {a: 200}, capacity: x}
      """
    #expect(
      errors(yaml) == [
        "k.yaml:1:17: menu.fruits.a: must be a single value, not a list or keys of its own",
        "k.yaml:2:28: stock.capacity: must be a whole number from 0 to 1000000000, not text",
      ])
  }

  @Test func keysAreCounted() {
    let keys = (0...1_000).map { "k\($0): 1" }.joined(separator: ", ")
    #expect(errors("broker: {\(keys)}") == ["k.yaml:1:1: broker: holds more than 1000 keys"])
  }

  @Test func allErrorsAreReportedInTheOrderOfTheFile() {
    let yaml = """
      stock: {low: x}
      broker:
        port: 0
        hots: a
      menu:
        juices:
          a: {recipe: {b: 1}}
      """
    #expect(
      errors(yaml, environment: ["KIOSK_KIOSK_LANGUAGE": "fr", "KIOSK_ORDER": "1"])
        .map { $0.prefix { $0 != ";" } } == [
          "k.yaml:1:9: stock.low: must be a whole number from 0 to 1000000000, not text",
          "k.yaml:3:3: broker.port: must be a whole number from 1 to 65535, not 0",
          "k.yaml:4:3: broker.hots: there is no such key",
          "k.yaml:7:18: menu.juices.a.recipe.b: the menu has no such fruit",
          "KIOSK_KIOSK_LANGUAGE: kiosk.language: must be en or ko, not 'fr'",
          "KIOSK_ORDER: there is no such setting",
        ])
  }
}
