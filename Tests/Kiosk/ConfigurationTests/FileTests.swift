import Devices
import Foundation
import JuiceDomain
import KioskCore
import KioskProtocol
import TestSupport
import Testing

@testable import KioskDaemon
@testable import YAMLConfiguration

@Suite struct FileTests {
  private func loadErrors(_ path: String) -> [String] {
    do throws(ConfigurationErrors) {
      _ = try KioskConfiguration.load(path: path)
      return []
    } catch {
      return error.errors.map(\.description)
    }
  }

  @Test func aCredentialThatSystemdDoesNotProvideIsNamed() {
    let error = #expect(throws: Diagnostic.self) {
      try TextFile.read("/run/credentials/juice-kiosk.service/none", upTo: 10)
    }
    #expect(error?.problem == "systemd has not provided this credential")
  }

  @Test func whatCannotBeReadIsSaid() throws {
    try withFolder { folder in
      let path = folder.path(percentEncoded: false)
      #expect(
        loadErrors(path + "/a") == [
          "\(path)/a: there is no such file; check the path and its spelling"
        ])
      #expect(loadErrors(path) == ["\(path): is a folder; name the file in it"])
      #expect(loadErrors("/dev/null") == ["/dev/null: is not an ordinary file"])
      try Data([0x61, 0xFF]).write(to: folder.appending(path: "latin"))
      #expect(loadErrors(path + "/latin") == ["\(path)/latin: is not UTF-8 text; save it as UTF-8"])
      try Data(repeating: 0x23, count: 2_000_000).write(to: folder.appending(path: "large"))
      #expect(loadErrors(path + "/large") == ["\(path)/large: is larger than 1048576 bytes"])
      try Data("\u{FEFF}kiosk: {id: k9}\r\n".utf8).write(to: folder.appending(path: "marked"))
      #expect(try KioskConfiguration.load(path: path + "/marked").kiosk.id == "k9")
      try Data().write(to: folder.appending(path: "empty"))
      #expect(
        loadErrors(path + "/empty") == [
          "\(path)/empty: is empty, as after a power cut; "
            + "put a copy in its place; for the defaults alone, write a comment"
        ])
      try Data("# defaults".utf8).write(to: folder.appending(path: "comment"))
      #expect(loadErrors(path + "/comment") == [])
    }
  }

  @Test(arguments: [
    ("a: [1", "k.yaml:2:1: this is not YAML: while parsing a flow sequence, "),
    ("kiosk:\n\tid: a", "k.yaml:2:1: this is not YAML: while scanning for the next token, "),
    ("kiosk: *a", "k.yaml:1:8: this is not YAML: found undefined alias"),
    ("a: 1\n---\nb: 1", "k.yaml:2:1: this is not YAML: expected a single document"),
    ("a: \u{1}", "k.yaml: this is not YAML: control characters are not allowed"),
    (
      String(repeating: "[", count: 5_000),
      "k.yaml:1:1: this is not YAML: while parsing, Maximum nesting level"
    ),
    (String(repeating: "- ", count: 5_000), "k.yaml:1:"),
    (String(repeating: "{a: ", count: 5_000), "k.yaml:1:"),
    (String(repeating: "? ", count: 5_000), "k.yaml:1:"),
  ])
  func whatIsNotYAML(yaml: String, start: String) throws {
    let errors = errors(yaml)
    #expect(errors.count == 1)
    #expect(errors.first?.hasPrefix(start) == true, "\(errors)")
  }

  /// The last three line breaks end a comment for Yams, although editors show one line.
  @Test(.timeLimit(.minutes(1)), arguments: ["\n", "\r", "\u{85}", "\u{2028}", "\u{2029}"])
  func anAliasBombIsRefused(lineBreak: String) {
    var yaml = "# A comment\na0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    for level in 1...12 {
      let alias = "*a\(level - 1)"
      yaml +=
        "a\(level): &a\(level) [\(Array(repeating: alias, count: 9).joined(separator: ","))]\n"
    }
    #expect(
      errors((yaml + "? *a12\n: 1").replacing("\n", with: lineBreak)) == [
        "k.yaml: more than 8 aliases (*name) are not read; write the values out"
      ])
  }

  // MARK: The files that are part of the distribution

  @Test func theListingIsTheDefaults() throws {
    #expect(try KioskConfiguration.load(path: project("config/kiosk.yaml")) == KioskConfiguration())
  }

  /// The listing without the '#' before each key is a complete configuration.
  @Test func theListingHasEveryKey() throws {
    let text = try String(contentsOfFile: project("config/kiosk.yaml"), encoding: .utf8)
    let yaml = text.replacing(/(?m)^( *)#([a-z_]+:)/) { "\($0.1)\($0.2)" }
    var expected = KioskConfiguration()
    expected.kiosk.name = LocalizedName(fallback: "City hall")
    expected.kiosk.place = "1 Main Street"
    expected.kiosk.region = "Seoul"
    expected.kiosk.notice = LocalizedName(fallback: "Something wrong? Call 030 1234567")
    expected.broker.username = "controller"
    expected.broker.passwordFile = "/etc/juice-kiosk/password"
    var tls = BrokerConfiguration.TLS()
    tls.caFile = "config/ca.crt"
    tls.certificateFile = "config/kiosk.crt"
    tls.keyFile = "config/kiosk.key"
    expected.broker.tls = tls
    var uplink = KioskConfiguration.Uplink()
    uplink.broker.section = "uplink"
    uplink.broker.clientID = "juice-kiosk-k1-uplink"
    (uplink.broker.host, uplink.broker.port) = ("mq1.example.com", 8883)
    uplink.broker.others = [.init(host: "mq2.example.com", port: 8884)]
    uplink.broker.username = "k1"
    uplink.broker.passwordFile = "/etc/juice-kiosk/uplink-password"
    tls.caFile = "config/chain-ca.crt"
    tls.certificateFile = "config/chain.crt"
    tls.keyFile = "config/chain.key"
    uplink.broker.tls = tls
    expected.uplink = uplink
    var terminal = KioskSettings.Payment.Device(name: "terminal")
    terminal.panels = ["panel1"]
    var payment = KioskSettings.Payment(devices: [terminal])
    payment.freePanels = ["staff"]
    expected.orders.shortResults = ["panel1"]
    expected.payment = payment
    expected.hours = OpeningHours(
      ["mon": "07:00-22:00", "tue": "07:00-22:00", "fri": "18:00-02:00", "sun": "00:00-24:00"]
        .reduce(into: [:]) { hours, day in
          if let name = OpeningHours.Day(rawValue: day.key) {
            hours[name] = OpeningHours.Interval(day.value)
          }
        })
    #expect(
      try KioskConfiguration.parse(yaml: yaml, file: "config/kiosk.yaml") == expected)

    #expect(KioskConfiguration.settings.isEmpty == false)
    for path in KioskConfiguration.settings {
      let key = path.joined(separator: ".")
      #expect(yaml.contains(try Regex("(?m)^ *\(path[path.count - 1]):")), "\(key)")
    }
  }

  @Test func theExampleMenuIsRead() throws {
    let configuration = try KioskConfiguration.load(path: project("config/menu.yaml"))
    #expect(configuration.menu.juices.count == Menu.standard.juices.count + 2)
    #expect(configuration.menu.juice("orange")?.name[.korean] == "오렌지쥬스")
    #expect(configuration.menu.juice("orange")?.price?.description == "3.50 EUR")
    #expect(configuration.menu.juice("kiwi")?.price?.description == "3.80 EUR")
    #expect(configuration.menu.juice("mango")?.price == nil)
    #expect(configuration.menu.fruits.last?.crate == 12)
    #expect(configuration.stock.initial["orange"] == 30)
    #expect(configuration.stock.capacities["kiwi"] == 100)
  }

  @Test func theExamplesForDevicesAreRead() throws {
    let page = try String(contentsOfFile: project("deploy/docs/devices.md"), encoding: .utf8)
    let blocks = page.matches(of: /(?ms)^```yaml\n((?:panels|displays):.*?)^```/).map { $0.1 }
    #expect(blocks.count >= 5)
    for block in blocks { #expect(errors(String(block)) == []) }
    let listing = try String(contentsOfFile: project("config/kiosk.yaml"), encoding: .utf8)
    for (section, key) in [
      ("panels", "key: /button"), ("machines", "at_once: 1"), ("sensors", "value: /temperature"),
    ] {
      let example = listing.matches(of: /(?m)^#(   (?:- |  ).*)\n|^(\w+): \[\]$/)
        .prefix { $0.2.map { $0 != section } ?? true }.reversed()
        .prefix { $0.1 != nil }.reversed().compactMap { $0.1 }.joined(separator: "\n")
      #expect(example.contains(key))
      #expect(errors("\(section):\n\(example)\n") == [])
    }
  }

  @Test func theExamplesOfMachinesAreRead() throws {
    let page = try String(contentsOfFile: project("deploy/docs/machines.md"), encoding: .utf8)
    let blocks = page.matches(of: /(?ms)^```yaml\n(machines:.*?)^```/).map { $0.1 }
    #expect(!blocks.isEmpty)
    for block in blocks { #expect(errors(String(block)) == []) }
  }

  @Test(arguments: Dialect.Name.allCases)
  func everyDialectHasAnExampleAndARowOfTheTable(dialect: Dialect.Name) throws {
    let examples = try FileManager.default.contentsOfDirectory(atPath: project("config/panels"))
    let panels = try examples.flatMap {
      try KioskConfiguration.load(path: project("config/panels/\($0)")).panels
    }
    #expect(panels.contains { $0.dialect.name == dialect })
    let page = try String(contentsOfFile: project("deploy/docs/devices.md"), encoding: .utf8)
    #expect(page.contains("| `\(dialect.rawValue)` |"))
    let listing = try String(contentsOfFile: project("config/kiosk.yaml"), encoding: .utf8)
    let choices = try #require(listing.firstMatch(of: /device: generic +# or (.*)/)).1
    #expect("generic, \(choices)".split(separator: ", ").contains { $0 == dialect.rawValue })
  }
}
