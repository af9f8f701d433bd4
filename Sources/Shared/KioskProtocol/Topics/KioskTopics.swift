package import JuiceDomain

/// The topics of a kiosk, all below `<root>/<kiosk>`. The table and the comments name the payloads.
///
/// ```swift
/// let topics = KioskTopics(root: "kiosk", kiosk: "k1")
/// let panel = Source(kind: .order, name: "panel1")
/// topics.filter(for: .order)  // kiosk/k1/order/+
/// topics.command(from: panel)  // kiosk/k1/order/panel1
/// topics.result(for: panel)  // kiosk/k1/order/panel1/result
/// topics.source(ofCommandOn: "kiosk/k1/order/panel1")  // panel
/// ```
///
/// | topics | publisher | payload |
/// |---|---|---|
/// | `<kind>/<sender>`, with a `Command.Kind` such as `order` | sender | `Request` |
/// | the same with `/result` | kiosk | `CommandResult` |
/// | `stock`, `menu`, `alert`, `status`, `info`, `health`, `sales`, ... | kiosk | reports |
/// | `make/<machine>`, `make/<machine>/cancel` | kiosk | `MachineOrder` |
/// | `charge/<device>`, `charge/<device>/<action>` | kiosk | `ChargeRequest` |
/// | `events` | kiosk | `LedgerEntry` |
/// | `report/<sender>` | sender | `SalesRequest`, `SafetyRequest`, `ChargesRequest` |
/// | the same with `/result` | kiosk | `SalesExtract`, `SafetyDay`, `ChargePage` |
/// | `menu/desired`, `replay/<archive>` | chain, archive | `DesiredMenu`, `ReplayRequest` |
package struct KioskTopics: Hashable, Sendable {
  /// The common prefix, such as `kiosk/k1`.
  package let base: String

  /// Creates the topics of a kiosk.
  ///
  /// - Parameter root: One or more topic levels without wildcards.
  package init(root: String, kiosk: KioskID) {
    base = "\(root)/\(kiosk)"
  }

  /// Returns the filter for the command topics of a kind, `<kind>/<sender>`.
  package func filter(for kind: Command.Kind) -> String { "\(base)/\(kind.rawValue)/+" }

  /// Returns the topic of the commands from `source`.
  package func command(from source: Source) -> String { "\(base)/\(source.description)" }

  /// Returns the topic of the results for `source`.
  package func result(for source: Source) -> String { "\(base)/\(source.description)/result" }

  /// Returns the sender of a command by its topic, or `nil` if the topic is not a command topic.
  package func source(ofCommandOn topic: String) -> Source? {
    guard let (kind, name) = levels(of: topic), let kind = Command.Kind(rawValue: kind) else {
      return nil
    }
    return Source(kind: kind, name: name)
  }

  /// The stock of one fruit, as a plain number.
  package func stock(of fruit: Fruit.ID) -> String { "\(base)/stock/\(fruit)" }
  /// The stock of all fruits: a `StockReport`.
  package var stock: String { "\(base)/stock" }
  /// The number of glasses of a juice that the kiosk can make now, as a plain number.
  package func servings(of juice: Juice.ID) -> String { "\(base)/juice/\(juice)" }
  /// The time at which the next batch of a fruit expires, or `none`.
  package func freshness(of fruit: Fruit.ID) -> String { "\(base)/freshness/\(fruit)" }
  /// A `MenuReport`.
  package var menu: String { "\(base)/menu" }
  /// A `StockAlert`.
  package func alert(for fruit: Fruit.ID) -> String { "\(base)/alert/\(fruit)" }
  /// A `ServiceState`.
  package var service: String { "\(base)/service" }
  /// A `SettingsReport`.
  package var settings: String { "\(base)/settings" }
  /// A `KioskStatus`.
  package var status: String { "\(base)/status" }
  /// A `KioskInfo`.
  package var info: String { "\(base)/info" }
  /// A `KioskHealth`.
  package var health: String { "\(base)/health" }
  /// A `SalesReport`.
  package var sales: String { "\(base)/sales" }
  /// A `DailySales`.
  package var dailySales: String { "\(sales)/days" }
  /// A `ForecastReport`.
  package var forecast: String { "\(base)/forecast" }
  /// A `HistoryReport`.
  package var history: String { "\(base)/history" }
  /// The jobs for a machine: a `MachineOrder`.
  package func make(by machine: MachineID) -> String { "\(base)/make/\(machine)" }
  /// The jobs that a machine must not begin: see `MachineOrder.cancel(_:)`.
  package func cancel(by machine: MachineID) -> String { "\(base)/make/\(machine)/cancel" }
  /// A machine's answers about its jobs: a `MachineAnswer`.
  package func made(by machine: MachineID) -> String { "\(base)/made/\(machine)" }
  /// A `MachineReport`.
  package func report(of machine: MachineID) -> String { "\(base)/machine/\(machine)" }
  /// A `MachineStatus`.
  package func status(of machine: MachineID) -> String { "\(base)/machine/\(machine)/status" }
  /// The charges for a payment device: a `ChargeRequest`.
  package func charge(by device: PaymentDeviceID) -> String { "\(base)/charge/\(device)" }
  /// The requests about a charge: see `ChargeRequest.payload(about:amount:)`.
  package func charge(_ action: ChargeRequest.Action, by device: PaymentDeviceID) -> String {
    "\(base)/charge/\(device)/\(action.rawValue)"
  }
  /// A device's answers about its charges: a `PaymentAnswer`.
  package func paid(by device: PaymentDeviceID) -> String { "\(base)/paid/\(device)" }
  /// A `PaymentReport`.
  package func payment(at device: PaymentDeviceID) -> String { "\(base)/payment/\(device)" }
  /// A `MachineStatus` of a payment device, without `out`.
  package func paymentStatus(of device: PaymentDeviceID) -> String {
    "\(payment(at: device))/status"
  }
  /// A `PaymentTotal`.
  package func paymentTotal(of device: PaymentDeviceID) -> String {
    "\(payment(at: device))/total"
  }
  /// A `SensorReport`.
  package func sensor(_ sensor: SensorID) -> String { "\(base)/sensor/\(sensor)" }
  /// The filter for the requests of all senders: a `SalesRequest`, `SafetyRequest` or `ChargesRequest`.
  package var reportFilter: String { "\(base)/report/+" }
  package func report(for sender: Request.ID) -> String { "\(base)/report/\(sender.text)" }
  /// The answers to a sender: a `SalesExtract`, `SafetyDay` or `ChargePage`.
  package func reportResult(for sender: Request.ID) -> String { "\(report(for: sender))/result" }
  /// Returns the sender of the requests on a topic, or `nil` if the topic is not a report topic.
  package func sender(requestingReportOn topic: String) -> Request.ID? {
    name(of: topic, below: "report")
  }
  /// Each new `LedgerEntry`, and old ones that the broker has not confirmed or an archive requests.
  package var events: String { "\(base)/events" }

  // Topics of the upstream broker only.

  /// The menu that the chain assigns to the kiosk: a `DesiredMenu`.
  package var desiredMenu: String { "\(base)/menu/desired" }
  /// The kiosk's response to `desiredMenu`: a `DesiredMenuReport`.
  package var reportedMenu: String { "\(base)/menu/reported" }
  /// The requests of an archive for missing entries: a `ReplayRequest`.
  package func replay(by archive: Request.ID) -> String { "\(base)/replay/\(archive.text)" }
  /// The filter for the requests of all archives: a `ReplayRequest`.
  package var replayFilter: String { "\(base)/replay/+" }
  /// The kiosk's responses to an archive: a `ReplayResult`.
  package func replayResult(for archive: Request.ID) -> String { "\(replay(by: archive))/result" }
  /// Returns the archive that sends the requests on a topic, or `nil` if the topic is not a replay
  /// topic.
  package func archive(requestedOn topic: String) -> Request.ID? {
    name(of: topic, below: "replay")
  }

  private func name(of topic: String, below level: String) -> Request.ID? {
    guard let (parent, name) = levels(of: topic), parent == level else { return nil }
    return Request.ID(name)
  }

  /// Returns the levels of a topic below `base` if there are exactly two, such as `order` and `panel1`.
  private func levels(of topic: String) -> (String, String)? {
    let slash = UInt8(ascii: "/")
    var (topic, base) = (topic, base)
    return topic.withUTF8 { topic in
      guard base.withUTF8({ topic.starts(with: $0) }) else { return nil }
      let levels = topic.dropFirst(base.utf8.count)
      guard levels.first == slash, let end = levels.dropFirst().firstIndex(of: slash) else {
        return nil
      }
      let (first, second) = (levels[..<end].dropFirst(), levels[end...].dropFirst())
      guard !second.contains(slash) else { return nil }
      return (String(decoding: first, as: UTF8.self), String(decoding: second, as: UTF8.self))
    }
  }
}

/// The sender of a command: `order/panel1` in the ledger and at the end of the topic.
package struct Source: Hashable, Sendable, LosslessStringConvertible {
  package let kind: Command.Kind
  /// The name: one topic level.
  package let name: String
  package let description: String

  package init(kind: Command.Kind, name: String) {
    self.kind = kind
    self.name = name
    description = kind.rawValue + "/" + name
  }

  /// Parses a `description`, or returns `nil` for any other text.
  package init?(_ description: String) {
    // Splits bytes: in a `String`, a slash followed by a combining character is a single
    // `Character`, which differs from a slash.
    let parts = description.utf8
      .split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
      .map { String(Substring($0)) }
    guard parts.count == 2, let kind = Command.Kind(rawValue: parts[0]) else { return nil }
    self.init(kind: kind, name: parts[1])
  }

  /// The problem of the name, or `nil` if it is valid.
  ///
  /// A valid name has 1 to 64 Unicode scalars of any script (a `Character` has no maximum size), none
  /// of them a control character, a topic separator or a wildcard (MQTT 4.7.1).
  package var flaw: String? {
    // Fast path: most names are short and consist of letters and digits.
    if (1...64).contains(name.utf8.count), name.utf8.allSatisfy(\.isIdentifierCharacter) {
      return nil
    }
    if name.isEmpty { return "the last level of the topic is empty: name the \(kind.sender) there" }
    if name.unicodeScalars.count > 64 {
      return "the name of the \(kind.sender) has more than 64 characters"
    }
    if name.unicodeScalars.contains(where: \.isControl) {
      return "there is a control character in the name of the \(kind.sender)"
    }
    if name.utf8.contains(where: "/+#".utf8.contains) {
      return "the name of the \(kind.sender) must be one topic level: without /, + and #"
    }
    return nil
  }
}

extension Source {
  /// The source of orders from the dashboard's virtual panel. The source of its other commands is the user.
  package static let virtualPanel = Source(kind: .order, name: "virtual")
  /// The source of orders from customers' tablets.
  package static let tablet = Source(kind: .order, name: "tablet")

  /// Returns the name of the user or the device.
  package func sender(_ language: Language) -> String {
    switch self {
    case .tablet: language(name, "태블릿")
    case .virtualPanel: language(name, "가상 버튼")
    // The name that `juice-kiosk` uses by default.
    default: name == "terminal" ? language("command line", "명령줄") : name
    }
  }
}

extension Unicode.Scalar {
  /// Whether the general category is `control`, without a lookup in Unicode's tables. Names of
  /// topics may contain format characters, which many scripts need; text for people must not.
  package var isControl: Bool { value < 0x20 || (0x7F..<0xA0).contains(value) }
}

// Brokers compare topics byte by byte (MQTT 4.7.3), and so does the ledger. `String` compares by
// canonical equivalence, and would treat two different topics as the same sender.
extension Source {
  package static func == (left: Self, right: Self) -> Bool {
    var (left, right) = (left.description, right.description)
    return left.withUTF8 { left in right.withUTF8 { left.elementsEqual($0) } }
  }

  package func hash(into hasher: inout Hasher) {
    var description = description
    description.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}
