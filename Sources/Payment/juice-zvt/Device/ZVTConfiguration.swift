import JuiceDomain
import KioskProtocol
import TimeZones
import YAMLConfiguration
import ZVT

/// The configuration of `juice-zvt`. config/zvt.yaml explains every key.
struct ZVTConfiguration: ConfigurationFile, Sendable {
  static let defaultPath = "/etc/juice-zvt/zvt.yaml"

  /// A time of day in the time zone of the configuration.
  struct TimeOfDay: Sendable, Equatable {
    var hour: Int
    var minute: Int
  }

  /// The destination of receipts: the register, which discards them, or the terminal's printer.
  enum Receipts: String, CaseIterable, Sendable {
    case discard, terminal
  }

  var topics = KioskTopics(root: "kiosk", kiosk: "k1")
  var name: PaymentDeviceID = "terminal"
  var journal = "/var/lib/juice-zvt/journal"
  var endOfDay: TimeOfDay?
  /// The time zone of `endOfDay` and of the terminal's clock, or `nil` if it is unknown and `endOfDay` not set.
  var timeZone = WallClock.system
  var host = ""
  var port = 20007
  var device = DeviceSettings()
  var broker = BrokerConfiguration()

  init() {}

  mutating func read(_ root: inout Section) {
    var (kiosk, base): (KioskID, String) = ("k1", "kiosk")
    root.section("kiosk") { section in
      section.read("id", .identifier(), into: &kiosk)
      section.read("root", .root, into: &base)
    }
    topics = KioskTopics(root: base, kiosk: kiosk)
    root.section("device") { section in
      section.read("name", .identifier(), into: &name)
      section.read("journal", .path, into: &journal)
      section.read("end_of_day", .timeOfDay, into: &endOfDay)
      section.read("time_zone", .timeZone, into: &timeZone)
      if endOfDay != nil, timeZone == nil {
        section.report(
          Diagnostic(
            "is missing, and TZ is no name of a time zone", hint: "write it like 'Europe/Berlin'"),
          at: "time_zone")
      }
    }
    root.section("terminal") { readTerminal(&$0) }
    let clientID = "juice-zvt-\(kiosk)-\(name)"
    broker = root.section("broker") { BrokerConfiguration(clusterOf: &$0, clientID: clientID) }
  }

  private mutating func readTerminal(_ section: inout Section) {
    section.read("host", .host, into: &host)
    if host.isEmpty {
      section.report(
        Diagnostic("is missing", hint: "write the address of the terminal"), at: "host")
    }
    section.read("port", .integer(1...65535), into: &port)
    section.read("password", .terminalPassword, into: &device.password)
    if let currency = section.read("currency", .currency) {
      device.currency = currency
      if let number = currency.number {
        device.currencyNumber = number
      } else {
        section.report(
          Diagnostic(
            "has no known number", hint: "use EUR, CHF, GBP, USD or another one of config/zvt.yaml"),
          at: "currency")
      }
    }
    section.read("mode", .choice(), into: &device.mode)
    section.read("text", .choice(), into: &device.session.text)
    var receipts = Receipts.discard
    section.read("receipts", .choice(), into: &receipts)
    // Bits 02 and 04: the terminal sends its receipts to the register, which discards them.
    device.configuration = receipts == .discard ? 0xDE : 0xD8
    section.read("show_text", .boolean, into: &device.showsText)
    section.read("abort", .boolean, into: &device.canAbort)
    section.read("capture", .choice(), into: &device.capture)
    section.read("book_in_part", .boolean, into: &device.booksInPart)
    section.read("reversal", .choice(), into: &device.reversal)
    section.read("repeat_receipt", .boolean, into: &device.repeatsReceipt)
    section.read("container", .boolean, into: &device.hasContainer)
    section.read("unknown_holds", .choice(), into: &device.foreignHolds)
    var asks = Int(device.asks)
    section.read("asks", .integer(1...255), into: &asks)
    device.asks = UInt8(clamping: asks)
    section.read("ask_seconds", .integer(1...4), into: &device.secondsPerAsk)
    section.read("acknowledge_seconds", .seconds(1...60), into: &device.session.acknowledgement)
    section.read("silence_seconds", .seconds(10...600), into: &device.session.silence)
    section.read("enquiry_seconds", .seconds(5...3600), into: &device.enquiry)
  }
}

extension Format where Value == Int {
  /// The password of a terminal: six digits.
  fileprivate static let terminalPassword = Format { scalar throws(Diagnostic) in
    guard scalar.text.utf8.count == 6, scalar.text.utf8.allSatisfy({ (48...57).contains($0) }),
      let number = Int(scalar.text)
    else { throw Diagnostic("must be six digits", hint: "write it like \"000000\"") }
    return number
  }
}

extension Format where Value == ZVTConfiguration.TimeOfDay {
  /// A time of day such as `23:30`. Reads the text of the scalar, because YAML reads some times as
  /// numbers in base 60.
  fileprivate static let timeOfDay = Format { scalar throws(Diagnostic) in
    guard let match = scalar.text.wholeMatch(of: /([0-2][0-9]):([0-5][0-9])/),
      let hour = Int(match.1), hour < 24, let minute = Int(match.2)
    else { throw Diagnostic("is no time of day", hint: "write it like \"23:30\"") }
    return ZVTConfiguration.TimeOfDay(hour: hour, minute: minute)
  }
}
