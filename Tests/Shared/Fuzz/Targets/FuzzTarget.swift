import Archive
import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol
import MessageBroker
import YAMLConfiguration

/// The decoders of input from the network or a file, each with the invariants that it must keep.
package enum FuzzTarget: String, CaseIterable, Sendable {
  case order, restock, service, settings, topic, source, json, result, report, entry, state,
    menu, timestamp, filter
  case configuration, panel, learn, template, replay, desired, archived, zvt, charge, journal,
    sensor

  /// The folder of the target's inputs in the corpus.
  package var corpus: String {
    switch self {
    case .learn: Self.panel.rawValue
    case .archived: Self.entry.rawValue
    default: rawValue
    }
  }

  package var check: ([UInt8]) -> Void {
    switch self {
    case .order: { Self.request($0, .order) }
    case .restock: { Self.request($0, .restock) }
    case .service: { Self.request($0, .service) }
    case .settings: { Self.request($0, .settings) }
    case .topic: Self.topic
    case .source: Self.source
    case .json: Self.json
    case .result: Self.result
    case .report: Self.report
    case .entry: Self.entry
    case .state: Self.state
    case .menu: Self.menu
    case .timestamp: Self.timestamp
    case .filter: Self.filter
    case .configuration: Self.configuration
    case .panel: PanelFuzz.panel
    case .learn: PanelFuzz.learn
    case .template: PanelFuzz.template
    case .replay: Self.replay
    case .desired: Self.desired
    case .archived: Self.archived
    case .zvt: PaymentFuzz.zvt
    case .charge: PaymentFuzz.charge
    case .journal: PaymentFuzz.journal
    case .sensor: PanelFuzz.sensor
    }
  }

  /// A rejection has a reason; an accepted request is unchanged after encoding and decoding.
  private static func request(_ payload: [UInt8], _ kind: Command.Kind) {
    switch decode(payload, kind) {
    case .failure(let rejection):
      expect(!rejection.detail.isEmpty, "a rejection without words: \(rejection)")
      // The detail is returned to the sender in a result, and must be encodable.
      let result = try? CommandResult(payload: CommandResult(rejection).payload)
      expect(result == CommandResult(rejection), "read back as \(String(describing: result))")
    case .success(let request):
      expect(payload.count <= Request.maximumPayload, "\(payload.count) bytes were let in")
      switch (request.command, kind) {
      case (.order, .order), (.restock, .restock), (.service, .service), (.settings, .settings):
        break
      default: expect(false, "\(kind) became \(request.command)")
      }
      let written = request.payload
      // The full encoding of a short command of 4 KiB may exceed the limit.
      guard written.count <= Request.maximumPayload else { return }
      switch decode(written, kind) {
      case .success(let again): expect(again == request, "\(request) is read back as \(again)")
      case .failure(let rejection): expect(false, "\(request) is read back as \(rejection)")
      }
    }
  }

  private static func decode(
    _ payload: [UInt8], _ kind: Command.Kind
  ) -> Result<Request, Rejection> {
    Result { () throws(Rejection) in try Request(kind: kind, payload: payload) }
  }

  private static let topics = [
    KioskTopics(root: "kiosk", kiosk: "k1"), KioskTopics(root: "a/b/c", kiosk: "k_2"),
  ]

  /// A topic is a command topic only if the kiosk would encode it identically.
  private static func topic(_ bytes: [UInt8]) {
    guard let topic = String(validating: bytes, as: UTF8.self) else { return }
    for topics in topics {
      guard let source = topics.source(ofCommandOn: topic) else { continue }
      expect(
        topics.command(from: source).utf8.elementsEqual(topic.utf8), "\(source) of \(topic)")
      expect(!source.name.utf8.contains(UInt8(ascii: "/")), "two levels: \(source)")
      expect(Source(source.description) == source, "\(source) is read back differently")
      expect(source.flaw != "", "a flaw without words")
      let selects = Command.Kind.allCases.map(topics.filter).contains { text in
        (try? TopicFilter(text))?.matches(topic) ?? false
      }
      expect(selects, "no subscription selects \(topic)")
    }
  }

  private static func source(_ bytes: [UInt8]) {
    guard let text = String(validating: bytes, as: UTF8.self), let source = Source(text) else {
      return
    }
    expect(source.description.utf8.elementsEqual(text.utf8), "\(text) became \(source)")
    expect(source.flaw != "", "a flaw without words")
  }

  /// An accepted value is unchanged after encoding and decoding, and is unambiguous.
  private static func json(_ bytes: [UInt8]) {
    let value: JSON
    do {
      value = try JSON.parse(bytes)
    } catch {
      expect(!error.problem.isEmpty, "an error without words")
      let offset = error.offset ?? -1
      expect((0...bytes.count).contains(offset), "byte \(offset) of \(bytes.count)")
      return
    }
    let written = value.text
    switch Result(catching: { () throws(JSONError) in try JSON.parse(Array(written.utf8)) }) {
    case .success(let again): expect(again == value, "\(value) is read back as \(again)")
    case .failure(let error): expect(false, "\(written) is not read back: \(error)")
    }
    expect(!value.kind.isEmpty, "a kind without words")
  }

  private static func result(_ payload: [UInt8]) {
    guard let result = try? CommandResult(payload: payload) else { return }
    let again = try? CommandResult(payload: result.payload)
    expect(again == result, "\(result) is read back as \(String(describing: again))")
    guard !result.isDuplicate else { return }
    var repeated = result
    repeated.isDuplicate = true
    let repetition = try? CommandResult(payload: repeated.payload)
    expect(repetition == repeated, "repeated as \(String(describing: repetition))")
  }

  private static func report(_ payload: [UInt8]) {
    if let report = try? SensorReport(payload: payload) {
      let again = try? SensorReport(payload: report.payload)
      expect(again == report, "\(report) is read back as \(String(describing: again))")
    }
    if let day = try? SafetyDay(payload: payload) {
      let again = try? SafetyDay(payload: day.payload)
      expect(again == day, "\(day) is read back as \(String(describing: again))")
    }
    if let report = try? StockReport(payload: payload) {
      let again = try? StockReport(payload: report.payload)
      expect(again == report, "\(report) is read back as \(String(describing: again))")
    }
    if let report = try? SalesReport(payload: payload) {
      let again = try? SalesReport(payload: report.payload)
      expect(again == report, "\(report) is read back as \(String(describing: again))")
    }
    if let report = try? DailySales(payload: payload) {
      let again = try? DailySales(payload: report.payload)
      expect(again?.payload == report.payload, "\(report) is read back differently")
    }
    if let report = try? HistoryReport(payload: payload) {
      let again = try? HistoryReport(payload: report.payload)
      expect(again == report, "\(report) is read back as \(String(describing: again))")
    }
    if let info = try? KioskInfo(payload: payload) {
      let again = try? KioskInfo(payload: info.payload)
      expect(again?.payload == info.payload, "\(info) is read back differently")
    }
    if let health = try? KioskHealth(payload: payload) {
      _ = health.disk?.freeSpace
      let again = try? KioskHealth(payload: health.payload)
      expect(again == health, "\(health) is read back as \(String(describing: again))")
    }
    if let request = try? SalesRequest(payload: payload) {
      let again = try? SalesRequest(payload: request.payload)
      expect(again == request, "\(request) is read back as \(String(describing: again))")
    }
    if let request = try? ChargesRequest(payload: payload) {
      let again = try? ChargesRequest(payload: request.payload)
      expect(again == request, "\(request) is read back as \(String(describing: again))")
    }
    if let page = try? ChargePage(payload: payload) {
      let again = try? ChargePage(payload: page.payload)
      expect(again == page, "\(page) is read back as \(String(describing: again))")
    }
    if let extract = try? SalesExtract(payload: payload) {
      let again = try? SalesExtract(payload: extract.payload)
      expect(again == extract, "\(extract) is read back as \(String(describing: again))")
    }
    if let report = try? ForecastReport(payload: payload) {
      let again = try? ForecastReport(payload: report.payload)
      expect(again == report, "\(report) is read back as \(String(describing: again))")
    }
  }

  private static func replay(_ payload: [UInt8]) {
    if let request = try? ReplayRequest(payload: payload) {
      let again = try? ReplayRequest(payload: request.payload)
      expect(again == request, "\(request) is read back as \(String(describing: again))")
    }
    if let result = try? ReplayResult(payload: payload) {
      let again = try? ReplayResult(payload: result.payload)
      expect(again == result, "\(result) is read back as \(String(describing: again))")
    }
  }

  private static func desired(_ payload: [UInt8]) {
    if let menu = try? DesiredMenu(payload: payload) {
      let again = try? DesiredMenu(payload: menu.payload)
      expect(again == menu, "\(menu) is read back as \(String(describing: again))")
      let text = try? KioskConfiguration.Text(path: nil, environment: [:])
      let configuration = try? text?.configuration(under: menu)
      expect(configuration?.menu.juices.isEmpty != true, "a menu without juices was taken")
    }
    if let report = try? DesiredMenuReport(payload: payload) {
      let again = try? DesiredMenuReport(payload: report.payload)
      expect(again == report, "\(report) is read back as \(String(describing: again))")
    }
  }

  private static func entry(_ payload: [UInt8]) {
    guard let entry = try? LedgerEntry(payload: payload) else { return }
    let again = try? LedgerEntry(payload: entry.payload)
    expect(again == entry, "\(entry) is read back as \(String(describing: again))")
  }

  /// A record of the table `state` is unchanged after encoding and decoding.
  private static func state(_ payload: [UInt8]) {
    func check<Record: StateRecord>(_: Record.Type) {
      guard let record = try? Record(payload: payload) else { return }
      let again = try? Record(payload: record.payload)
      expect(again == record, "\(record) is read back as \(String(describing: again))")
    }
    check(StockAlert.self)
    check(RecentCounters.self)
    check(Batch.self)
    check(ExpiredFruit.self)
    check(Maker.self)
    check(MachineRecord.self)
    check(ProgramRecord.self)
    check(SensorRecord.self)
    check(Job.self)
    check(Charge.self)
    check(PaymentDeviceRecord.self)
  }

  /// An event is a row with all columns, or it is refused with a reason.
  private static func archived(_ payload: [UInt8]) {
    do throws(UnreadableEvent) {
      let row = try EventRow(Message(topic: "kiosk/k1/events", payload: payload), of: "k1")
      let tabs = row.line.count { $0 == UInt8(ascii: "\t") }
      expect(tabs == EventRow.columnList.split(separator: ",").count - 1, "\(tabs + 1) columns")
      expect(row.line.last == UInt8(ascii: "\n") && !row.line.dropLast().contains(10), "lines")
    } catch {
      expect(!error.description.isEmpty, "unreadable without words")
    }
  }

  private static func menu(_ payload: [UInt8]) {
    guard let report = try? MenuReport(payload: payload) else { return }
    let again = try? MenuReport(payload: report.payload)
    expect(again?.payload == report.payload, "\(report) is read back differently")
  }

  private static func timestamp(_ bytes: [UInt8]) {
    guard let text = String(validating: bytes, as: UTF8.self), let time = Timestamp(text) else {
      return
    }
    let again = Timestamp(time.description)
    expect(again == time, "\(text): \(time) is read back as \(String(describing: again))")
  }

  /// The first line of the input is a filter, the rest a topic.
  private static func filter(_ bytes: [UInt8]) {
    let parts = bytes.split(
      separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
    guard let text = String(validating: parts[0], as: UTF8.self) else { return }
    let topic = parts.count > 1 ? String(validating: parts[1], as: UTF8.self) ?? "" : ""
    guard let filter = try? TopicFilter(text) else { return }
    let isOwnTopic = !text.contains { "+#".contains($0) }
    if isOwnTopic { expect(filter.matches(text), "\(text) does not select itself") }
    if !topic.isEmpty, !topic.contains(where: { "+#".contains($0) }) {
      expect(
        filter.matches(topic) == topic.isSelected(by: text),
        "\(text) and \(topic): \(filter.matches(topic))")
    }
  }

  /// A file is accepted completely, or each error has a place and a message.
  private static func configuration(_ bytes: [UInt8]) {
    guard let yaml = String(validating: bytes, as: UTF8.self) else { return }
    do {
      let configuration = try KioskConfiguration.parse(yaml: yaml, file: "/etc/kiosk.yaml")
      expect((1...65_535).contains(configuration.broker.port), "\(configuration.broker.port)")
      expect(!configuration.broker.clientID.isEmpty, "no client id")
      let kiosk = configuration.kiosk
      let topics = KioskTopics(root: kiosk.root, kiosk: kiosk.id)
      for filter in Command.Kind.allCases.map(topics.filter) {
        expect((try? TopicFilter(filter)) != nil, "cannot subscribe to \(filter)")
      }
      expect(configuration.menu.fruits.count <= 1_005, "\(configuration.menu.fruits.count) fruits")
      for (fruit, amount) in configuration.stock.initial {
        expect(amount <= configuration.stock.capacities[fruit] ?? -1, "\(fruit) above capacity")
      }
    } catch {
      expect(!error.errors.isEmpty, "refused without an error")
      for error in error.errors {
        expect(!error.problem.isEmpty, "an error without words")
        expect(
          !error.description.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F },
          "a control character in \(error.description.debugDescription)")
      }
    }
  }
}
