import CommandLineSupport
import JuiceDomain
import KioskDaemon
import KioskProtocol
import MessageBroker
import YAMLConfiguration

// Reads retained messages from the broker, for the texts that a command prints.

extension KioskConfiguration {
  /// Describes the kiosk that a command without a configuration file addresses.
  ///
  /// - Throws: `Failure` if another kiosk is online at the broker, or the broker cannot be read.
  func describeKiosk(timeout: Duration) async throws(Failure) -> String {
    let filters = ["\(kiosk.root)/+/status", "\(kiosk.root)/+/info"]
    let payloads = try await retained(filters, timeout: timeout)
    let online = payloads.filter { topic, payload in
      topic.hasSuffix("/status") && payload == Array(KioskStatus.online.rawValue.utf8)
    }
    let kiosks = online.keys.sorted()
      .compactMap { KioskID($0.dropFirst(kiosk.root.utf8.count + 1).dropLast("/status".count)) }
    func name(_ id: KioskID) -> String {
      // A kiosk without a readable `info` has no name.
      let info = payloads["\(kiosk.root)/\(id)/info"].flatMap { try? KioskInfo(payload: $0) }
      let words = [info?.name?[kiosk.language], info?.place].compactMap(\.self)
      return words.isEmpty ? "\(id)" : "\(id) (\(words.joined(separator: ", ")))"
    }
    let address = "\(broker.host):\(broker.port)"
    guard kiosks.allSatisfy({ $0 == kiosk.id }) else {
      throw .badConfiguration(
        "there is no configuration file, and these kiosks are online at \(address): "
          + "\(kiosks.map(name).listed). Choose one with KIOSK_KIOSK_ID or --config")
    }
    return "there is no configuration file: this is for kiosk \(name(kiosk.id)) at \(address)"
  }

  /// Suggests ids of the kiosk's menu for the unknown juice of an order, or for the unknown fruit of a
  /// restock or of a decision about a job.
  ///
  /// - Returns: The suggestion; or `nil` for other commands, or if the menu cannot be read.
  func suggestion(for command: Command, timeout: Duration) async -> String? {
    // The rejection of the command is the error to report. An error here only omits the suggestion.
    guard let payload = try? await retained([topics.menu], timeout: timeout)[topics.menu],
      let menu = try? MenuReport(payload: payload).menu
    else { return nil }
    let fruits = menu.fruits.map(\.id)
    let amounts: [FruitAmounts]
    switch command {
    case .order(let order):
      return Suggestion.hint(for: order.juice.text, among: menu.juices.map(\.id.text))
    case .restock(let restock): amounts = [restock.add, restock.set, restock.expect]
    case .job(let decision): amounts = [decision.used ?? [:]]
    default: return nil
    }
    return amounts.joined().first { !fruits.contains($0.fruit) }
      .flatMap { Suggestion.hint(for: $0.fruit.text, among: fruits.map(\.text)) }
  }

  private func retained(
    _ filters: [String], timeout: Duration
  ) async throws(Failure) -> [String: [UInt8]] {
    try await RetainedMessages(
      of: filters.map(TopicFilter.init(unchecked:)), timeout: timeout
    ) { () throws(Failure) in
      try makeBroker()
    }.payloads
  }
}
