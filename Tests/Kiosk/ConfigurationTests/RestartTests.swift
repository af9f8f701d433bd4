import Testing

@testable import KioskDaemon
@testable import YAMLConfiguration

/// Tests which changes require a restart.
@Suite struct RestartTests {
  /// A configuration for each key, with a value other than the default.
  private static let fixed = [
    "kiosk.id": "kiosk: {id: k2}", "kiosk.root": "kiosk: {root: shop}",
    "kiosk.time_zone": "kiosk: {time_zone: Asia/Seoul}", "broker.host": "broker: {host: other}",
    "broker.port": "broker: {port: 1884}", "broker.protocol": "broker: {protocol: 3.1.1}",
    "broker.client_id": "broker: {client_id: x}", "broker.username": "broker: {username: x}",
    "broker.password_file": "broker: {username: x, password_file: p}",
    "broker.tls.ca_file": "broker: {port: 1883, tls: {ca_file: ca}}",
    "broker.tls.certificate_file": "broker: {port: 1883, tls: {certificate_file: c, key_file: k}}",
    "broker.tls.key_file": "broker: {port: 1883, tls: {certificate_file: c, key_file: k}}",
    "ledger.path": "ledger: {path: /x}",
    "uplink.addresses": "uplink: {addresses: [a]}",
    "uplink.root": "uplink: {addresses: [a], root: x}",
    "uplink.entries_per_second": "uplink: {addresses: [a], entries_per_second: 1}",
    "uplink.protocol": "uplink: {addresses: [a], protocol: 3.1.1}",
    "uplink.client_id": "uplink: {addresses: [a], client_id: x}",
    "uplink.username": "uplink: {addresses: [a], username: x}",
    "uplink.password_file": "uplink: {addresses: [a], username: x, password_file: p}",
    "uplink.tls.ca_file": "uplink: {addresses: [a], tls: {ca_file: ca}}",
    "uplink.tls.certificate_file":
      "uplink: {addresses: [a], tls: {certificate_file: c, key_file: k}}",
    "uplink.tls.key_file": "uplink: {addresses: [a], tls: {certificate_file: c, key_file: k}}",
  ]

  @Test(arguments: fixed.keys.sorted()) func isNamed(key: String) throws {
    let new = try KioskConfiguration.parse(yaml: try #require(Self.fixed[key]), file: "k.yaml")
    let changes = new.changesForRestart(from: KioskConfiguration())
    #expect(changes.contains { key == $0 || key.hasPrefix($0 + ".") }, "\(changes)")
    #expect(new.changesForRestart(from: new) == [])
  }

  @Test func whatIsNotIsTakenOver() throws {
    let new = try KioskConfiguration.parse(
      yaml: """
        kiosk: {language: ko, name: City hall, place: 1 Main Street, notice: x}
        stock: {initial: 1, capacity: 7, low: 2}
        hours: {mon: "07:00-22:00"}
        orders: {max_age_seconds: 1, max_quantity: 1, debounce_milliseconds: 1, max_per_second: 1}
        home_assistant: {enabled: true, prefix: ha, form: device, account: x}
        menu: {base: standard, juices: {shake: {recipe: {kiwi: 1}}}}
        panels: [{name: a, device: tasmota, topic: a, buttons: {single: kiwi}}]
        displays: [{topic: d, text: "{stock.kiwi}"}]
        machines: [{name: bar}]
        sensors: [{name: a, topic: t, unit: g, min: 1}]
        payment: {pay_seconds: 5, free_panels: [a], devices: [{name: terminal}]}
        """, file: "k.yaml")
    #expect(new.changesForRestart(from: KioskConfiguration()) == [])
  }

  /// Each key is either in the table or in the file above.
  @Test func noKeyIsForgotten() {
    let others = [
      "kiosk.language", "kiosk.name", "kiosk.place", "kiosk.region", "kiosk.notice", "stock",
      "orders",
      "home_assistant", "menu", "payment", "hours",
    ]
    for path in KioskConfiguration.settings.map({ $0.joined(separator: ".") }) {
      let isFixed = Self.fixed[path] != nil
      #expect(isFixed || others.contains { path == $0 || path.hasPrefix($0 + ".") }, "\(path)")
    }
  }
}
