import CommandLineSupport
import JuiceDomain
import KioskProtocol

/// The state of a kiosk as a display shows it, from the kiosk's retained topics.
struct KioskView {
  private let topics: KioskTopics
  private var info: KioskInfo?
  private(set) var status = "unknown"
  private(set) var service = "unknown"
  private(set) var stock: [String: String] = [:]
  private(set) var alerts: [String: String] = [:]
  private(set) var servings: [String: String] = [:]
  private var expiries: [String: String] = [:]
  private var machines: [String: MachineReport] = [:]
  private var reports = KioskReports()
  private var fruits = MenuList()
  private var juices = MenuList()
  private let language: Language

  init(topics: KioskTopics, language: Language) {
    self.topics = topics
    self.language = language
  }

  /// Returns the topic filters that a display subscribes to.
  static func filters(of topics: KioskTopics) -> [String] {
    [
      "stock", "stock/+", "freshness/+", "juice/+", "alert/+", "machine/+", "payment/+", "sensor/+",
      "menu", "info", "service", "status",
    ].map {
      "\(topics.base)/\($0)"
    }
  }

  /// Updates the view with a message.
  ///
  /// - Returns: The change in words, or `nil` if the message changes nothing or is the menu.
  mutating func update(topic: String, payload: [UInt8]) -> String? {
    guard topic.hasPrefix(topics.base + "/") else { return nil }
    let levels = topic.dropFirst(topics.base.count + 1).split(separator: "/")
      .map { String($0).visible() }
    let text = String(decoding: payload, as: UTF8.self).visible()
    _ = reports.receive(levels[...], payload)
    switch (levels.first, levels.count) {
    case ("status", 1): return change(\.status, to: text, called: "status")
    case ("service", 1): return change(\.service, to: text, called: "service")
    case ("stock", 2): return change(\.stock[levels[1]], to: text, called: levels[1])
    case ("freshness", 2):
      return change(\.expiries[levels[1]], to: text, called: "\(levels[1]) expires")
    case ("alert", 2): return change(\.alerts[levels[1]], to: text, called: "\(levels[1]) alert")
    case ("juice", 2):
      return change(\.servings[levels[1]], to: text, called: "\(levels[1]) servings")
    case ("machine", 2):
      // A report that cannot be read is shown as no report, here and for `info`.
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

  /// The kiosk's name and place, or `nil` if it has published neither.
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
  /// - Parameters:
  ///   - width: The width of the terminal in columns, at least 20, to which lines are cut.
  ///   - color: Whether to use the terminal's colors.
  func lines(width: Int, color: Bool, at now: Timestamp) -> [String] {
    // A row begins with two spaces, a name, a space, a number of 5 digits and two spaces.
    let nameWidth = min(20, max(6, width - 20))
    let rest = width - nameWidth - 10
    func row(_ name: String, _ count: String) -> String {
      let (name, count) = (name.cut(to: nameWidth), count.cut(to: 5))
      return "  \(name.padded(to: nameWidth)) \(count.padded(to: 5, left: true))"
    }
    let states = "\(topics.base)  \(status)  \(service)"
    let title = called.map { "\($0.cut(to: width - states.columns - 2))  " } ?? ""
    var lines = [
      (title + topics.base).cut(to: width - status.columns - service.columns - 4)
        + "  \(status.painted(status == "online" ? .green : .red, if: color))  "
        + service.painted(service == "open" ? .green : .yellow, if: color), "",
    ]
    for (fruit, count) in fruits.sorted(stock) {
      let expiry = expiries[fruit].flatMap { $0 == "none" ? nil : "until \($0)" }
      let words = [alerts[fruit].flatMap { $0 == "ok" ? nil : $0 }, expiry].compactMap(\.self)
      let alert = words.isEmpty ? nil : words.joined(separator: " ").cut(to: rest)
      let length = min(40, (Int(count) ?? 0) / 2, rest - (alert.map { $0.columns + 1 } ?? 0))
      let bar = String(repeating: "█", count: max(0, length))
      let text = [bar, alert].compactMap(\.self).joined(separator: " ")
      let shade: String.Color =
        alerts[fruit] == "out" ? .red : alerts[fruit] == "low" ? .yellow : .green
      let name = fruits.names[fruit] ?? fruit
      lines.append("\(row(name, count))  \(text.cut(to: rest).painted(shade, if: color))")
    }
    lines.append("")
    for (juice, count) in juices.sorted(servings) {
      // The id is the argument of `juice-kiosk order`.
      let name = juices.names[juice]
      lines.append(
        row(name ?? juice, count).painted(count == "0" ? .red : .green, if: color)
          + (name == nil ? "" : "  \(juice.cut(to: rest))"))
    }
    if !machines.isEmpty { lines.append("") }
    for (name, report) in machines.sorted(by: { $0.key < $1.key }) {
      let summary = report.summary.cut(to: width - nameWidth - 3)
      lines.append(
        "  \(name.cut(to: nameWidth).padded(to: nameWidth)) "
          + summary.painted(report.needsAttention ? .red : .green, if: color))
    }
    let problems = reports.problems(at: now)
    if !problems.isEmpty { lines.append("") }
    let text = ProblemText(reports, language) { "\($0)" }
    for problem in problems {
      let line = "\(text.sentence(about: problem.kind)): \(text.remedy(of: problem.kind))"
      let shade: String.Color = problem.severity == .note ? .yellow : .red
      lines.append("  \(line.cut(to: width - 2).painted(shade, if: color))")
    }
    return lines
  }
}

extension MachineReport {
  /// A one-line description, such as `busy: ticket 42, 2 waiting`.
  fileprivate var summary: String {
    let undecided = jobs.filter(\.state.isUndecided)
      .map { "\($0.ticket) (job \($0.attempt))" }.joined(separator: ", ")
    let facts = [
      reason, out.isEmpty ? nil : "no \(out.map(\.text).joined(separator: ", "))",
      current.map { "ticket \($0.ticket)" }, queue > 0 ? "\(queue) waiting" : nil,
      undecided.isEmpty ? nil : "decision needed for ticket \(undecided)",
    ].compactMap(\.self)
    return ([state.rawValue] + (facts.isEmpty ? [] : [facts.joined(separator: ", ")]))
      .joined(separator: ": ")
  }
}

/// The names and the order of a menu's fruits or juices, by their ids.
private struct MenuList {
  private(set) var names: [String: String] = [:]
  private var places: [String: Int] = [:]

  init() {}

  init(_ json: JSON?, _ language: Language) {
    guard case .array(let elements) = json else { return }
    for (place, element) in elements.enumerated() {
      guard case .string(let id) = element["id"] else { continue }
      places[id] = place
      names[id] = element["name"]?.visibleText(language.rawValue)
    }
  }

  /// Returns the values in the order of the menu.
  func sorted(_ values: [String: String]) -> [(key: String, value: String)] {
    values.sorted { (places[$0.key] ?? .max, $0.key) < (places[$1.key] ?? .max, $1.key) }
  }
}
