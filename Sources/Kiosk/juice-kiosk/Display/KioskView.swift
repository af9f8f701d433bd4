import JuiceDomain
import KioskProtocol

/// A kiosk as a display shows it, from its retained topics.
struct KioskView {
  private let topics: KioskTopics
  private var info: KioskInfo?
  private(set) var status = "unknown"
  private(set) var service = "unknown"
  private(set) var stock: [String: String] = [:]
  private(set) var alerts: [String: String] = [:]
  private(set) var servings: [String: String] = [:]
  private var machines: [String: MachineReport] = [:]
  private var fruits = MenuList()
  private var juices = MenuList()
  private let language: Language

  init(topics: KioskTopics, language: Language) {
    self.topics = topics
    self.language = language
  }

  /// Returns the topic filters that a display subscribes to.
  static func filters(of topics: KioskTopics) -> [String] {
    ["stock/+", "juice/+", "alert/+", "machine/+", "menu", "info", "service", "status"].map {
      "\(topics.base)/\($0)"
    }
  }

  /// Updates the view with a message.
  ///
  /// - Returns: the change in words, or `nil` if the message changes nothing.
  mutating func update(topic: String, payload: [UInt8]) -> String? {
    guard topic.hasPrefix(topics.base + "/") else { return nil }
    let levels = topic.dropFirst(topics.base.count + 1).split(separator: "/").map(String.init)
    let text = String(decoding: payload, as: UTF8.self)
    switch (levels.first, levels.count) {
    case ("status", 1): return change(\.status, to: text, called: "status")
    case ("service", 1): return change(\.service, to: text, called: "service")
    case ("stock", 2): return change(\.stock[levels[1]], to: text, called: levels[1])
    case ("alert", 2): return change(\.alerts[levels[1]], to: text, called: "\(levels[1]) alert")
    case ("juice", 2):
      return change(\.servings[levels[1]], to: text, called: "\(levels[1]) servings")
    case ("machine", 2):
      let report = try? MachineReport(payload: payload)
      guard machines[levels[1]] != report else { return nil }
      machines[levels[1]] = report
      return "\(levels[1]) \(report?.summary ?? "gone")"
    case ("menu", 1):
      readMenu(payload)
      return nil
    case ("info", 1):
      let before = called
      info = try? KioskInfo(payload: payload)
      return called == before ? nil : called ?? "\(topics.base) has no name"
    default: return nil
    }
  }

  private mutating func change(
    _ value: WritableKeyPath<Self, String>, to text: String, called name: String
  ) -> String? {
    guard self[keyPath: value] != text else { return nil }
    self[keyPath: value] = text
    return "\(name) \(text)"
  }

  private mutating func change(
    _ value: WritableKeyPath<Self, String?>, to text: String, called name: String
  ) -> String? {
    let new = text.isEmpty ? nil : text
    guard self[keyPath: value] != new else { return nil }
    self[keyPath: value] = new
    return "\(name) \(new ?? "gone")"
  }

  /// The kiosk's name and place, or `nil` before it has published any.
  private var called: String? {
    let words = [info?.name?[language], info?.place].compactMap(\.self)
    return words.isEmpty ? nil : words.joined(separator: ", ")
  }

  private mutating func readMenu(_ payload: [UInt8]) {
    guard let json = try? JSON.parse(payload) else { return }
    fruits = MenuList(json["fruits"], language)
    juices = MenuList(json["juices"], language)
  }
}

extension KioskView {
  /// Returns the lines of the whole display.
  ///
  /// - Parameter color: whether to use the terminal's colours.
  func lines(color: Bool) -> [String] {
    func alertColor(_ alert: String?) -> String.Color {
      switch alert {
      case "out": .red
      case "low": .yellow
      default: .green
      }
    }
    var lines = [
      "\(called.map { "\($0)  " } ?? "")\(topics.base)  \(status.painted(status == "online" ? .green : .red, if: color))  "
        + service.painted(service == "open" ? .green : .yellow, if: color), "",
    ]
    for (fruit, count) in fruits.sorted(stock) {
      let alert = alerts[fruit]
      let bar = String(repeating: "█", count: min(40, (Int(count) ?? 0) / 2))
      lines.append(
        "  \(fruit.padded(to: 20)) \(count.padded(to: 5, left: true))  "
          + (alert == nil || alert == "ok" ? bar : "\(bar) \(alert ?? "")")
          .painted(alertColor(alert), if: color))
    }
    lines.append("")
    for (juice, count) in juices.sorted(servings) {
      let name = juices.names[juice] ?? juice
      lines.append(
        "  \(juice.padded(to: 20)) "
          + count.padded(to: 5, left: true).painted(count == "0" ? .red : .green, if: color)
          + "  \(name)")
    }
    if !machines.isEmpty { lines.append("") }
    for (name, report) in machines.sorted(by: { $0.key < $1.key }) {
      lines.append(
        "  \(name.padded(to: 20)) "
          + report.summary.painted(report.needsAttention ? .red : .green, if: color))
    }
    return lines
  }
}

extension MachineReport {
  /// A one-line description, such as `busy: ticket 42, 2 waiting`.
  fileprivate var summary: String {
    let undecided = jobs.filter(\.state.isUndecided).map { "\($0.ticket)" }
    let facts = [
      reason, current.map { "ticket \($0.ticket)" }, queue > 0 ? "\(queue) waiting" : nil,
      undecided.isEmpty ? nil : "ask somebody about \(undecided.joined(separator: ", "))",
    ].compactMap(\.self)
    return ([state.rawValue] + (facts.isEmpty ? [] : [facts.joined(separator: ", ")]))
      .joined(separator: ": ")
  }
}

/// The ids and names of a menu's fruits, or of its juices.
private struct MenuList {
  private(set) var names: [String: String] = [:]
  private var places: [String: Int] = [:]

  init() {}

  init(_ json: JSON?, _ language: Language) {
    guard case .array(let elements) = json else { return }
    for (place, element) in elements.enumerated() {
      guard case .string(let id) = element["id"] else { continue }
      places[id] = place
      if case .string(let name) = element["name"]?[language.rawValue] { names[id] = name }
    }
  }

  /// Returns the values in the order of the menu.
  func sorted(_ values: [String: String]) -> [(key: String, value: String)] {
    values.sorted { (places[$0.key] ?? .max, $0.key) < (places[$1.key] ?? .max, $1.key) }
  }
}
