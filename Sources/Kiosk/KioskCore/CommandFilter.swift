import Devices
import KioskProtocol
package import MessageBroker

/// Where deliveries come in: what is no command is turned away before the ledger is asked.
///
/// Apart from the core, because what it remembers (who has sent how much in this second) is large,
/// and not worth taking back when a decision cannot be committed.
package struct CommandFilter: Sendable {
  /// Messages that were no command and get no answer.
  package private(set) var dropped = 0
  private var settings: KioskSettings
  private var panels: PanelIndex
  /// Topics on which somebody says that they are back, which is no command and not dropped.
  private var birthTopics: Set<String>
  /// By the topics on which they say how they are.
  private var machines: [String: MachineID]
  private var commandLimiter: RateLimiter<Source>
  /// Of all senders together, and for each kind of command, so that the desk is told what is wrong
  /// with a restock whatever the panels do.
  private var rejectionLimiter = RateLimiter<Command.Kind>(
    perSecond: Self.maximumRejectionsPerSecond)

  /// So many refusals are told, whoever asks: one for each message would double a flood. The others
  /// are only counted.
  static let maximumRejectionsPerSecond = 100

  package init(settings: KioskSettings) {
    self.settings = settings
    panels = PanelIndex(settings.panels)
    birthTopics = Set(settings.birthTopics)
    machines = Dictionary(
      settings.machines.map { (settings.topics.status(of: $0.name), $0.name) },
      uniquingKeysWith: { first, _ in first })
    commandLimiter = RateLimiter(perSecond: settings.orders.maximumPerSecond)
  }

  /// Goes on under other rules. Who sends too much is counted anew.
  package mutating func adopt(_ settings: KioskSettings) {
    var next = CommandFilter(settings: settings)
    next.dropped = dropped
    self = next
  }

  /// - Parameter tracker: knows which of the deliveries have come before.
  package mutating func admit(
    _ deliveries: [Delivery], tracker: inout DeliveryTracker, at now: Moment
  ) -> [ParsedDelivery] {
    var parsedDeliveries: [ParsedDelivery] = []
    parsedDeliveries.reserveCapacity(deliveries.count)
    for delivery in deliveries {
      let admitted = admit(delivery, matching: tracker.match(delivery), at: now)
      if admitted.isEmpty, delivery.excess != nil || !isExpected(delivery.message.topic) {
        dropped += 1
      }
      parsedDeliveries += admitted
    }
    return parsedDeliveries
  }

  private mutating func admit(
    _ delivery: Delivery, matching match: DeliveryTracker.Match, at now: Moment
  ) -> [ParsedDelivery] {
    let topic = delivery.message.topic
    // Whose it is cannot be said.
    if delivery.excess == .topic { return [] }
    guard let source = settings.topics.source(ofCommandOn: topic) else {
      if let machine = machines[topic] {
        let parsed = ParsedDelivery(
          status: delivery.machineStatus, of: machine, on: delivery, matching: match,
          settings: settings)
        return [limitRejections(parsed, at: now)]
      }
      return panels.panels(subscribedTo: topic).flatMap { panel in
        admit(delivery, on: topic, of: panel, matching: match, at: now)
      }
    }
    let parsed = ParsedDelivery(
      command: delivery, from: source, matching: match, settings: settings,
      isWithinRate: isWithinRate(delivery, from: source, at: now))
    return [limitRejections(parsed, at: now)]
  }

  private mutating func admit(
    _ delivery: Delivery, on topic: String, of panel: PanelBinding,
    matching match: DeliveryTracker.Match, at now: Moment
  ) -> [ParsedDelivery] {
    func parsed(
      _ request: Result<Request, Rejection>?, from source: Source, debounce: Duration? = nil,
      mark: PanelMessage.Mark? = nil
    ) -> ParsedDelivery {
      let isWithinRate = request == nil || isWithinRate(delivery, from: source, at: now)
      return limitRejections(
        ParsedDelivery(
          request, from: source, debounce: debounce, mark: mark, on: delivery,
          matching: match, settings: settings, isWithinRate: isWithinRate), at: now)
    }
    let itself = Source(kind: .order, name: panel.name)
    let message = delivery.message
    if let rejection = delivery.rejection { return [parsed(.failure(rejection), from: itself)] }
    do throws(Unreadable) {
      let panelMessage = try panel.read(message.payload, on: topic, isRetained: message.retain)
      guard panelMessage.requests.isEmpty else {
        return panelMessage.requests.map {
          parsed(
            .success($0.request), from: $0.source, debounce: $0.debounce, mark: panelMessage.mark)
        }
      }
      return panelMessage.mark.map { [parsed(nil, from: itself, mark: $0)] } ?? []
    } catch {
      return [parsed(.failure(Rejection(.malformed, "\(topic): \(error)")), from: itself)]
    }
  }

  /// What comes again was let in once, or has waited long enough since it was not. What a machine
  /// says of its jobs is not to be lost.
  private mutating func isWithinRate(
    _ delivery: Delivery, from source: Source, at now: Moment
  ) -> Bool {
    delivery.isRedelivery || source.kind == .made || commandLimiter.admit(source, at: now.timestamp)
  }

  private mutating func limitRejections(_ parsed: ParsedDelivery, at now: Moment) -> ParsedDelivery
  {
    guard case .failure = parsed.request else { return parsed }
    var parsed = parsed
    // guard: refusals are told so often and no more
    parsed.isAnswered = rejectionLimiter.admit(parsed.source.kind, at: now.timestamp)
    return parsed
  }

  private mutating func isExpected(_ topic: String) -> Bool {
    birthTopics.contains(topic) || !panels.panels(subscribedTo: topic).isEmpty
  }
}

extension Delivery {
  /// What a machine says of itself. A status that was cleared says nothing: as if it were away.
  fileprivate var machineStatus: Result<Request, Rejection> {
    if let rejection { return .failure(rejection) }
    let text = String(decoding: message.payload, as: UTF8.self)
    guard let status = MachineStatus(text.isEmpty ? "offline" : text) else {
      return .failure(
        Rejection(.malformed, "a machine is online, offline, or in fault: and why"))
    }
    return .success(Request(command: .machine(status)))
  }
}
