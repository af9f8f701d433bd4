import Devices
import JuiceDomain
import KioskProtocol
package import MessageBroker

/// Admission control: checks the size, topic, syntax and rate of each delivery before the kiosk
/// queries the ledger.
///
/// ```swift
/// var filter = CommandFilter(settings: settings)
/// let parsed = filter.admit(deliveries, tracker: &tracker, at: now)
/// let decision = kiosk.decide(parsed, repeats: try ledger.repeats(of: ...), at: now)
/// ```
///
/// | command | result |
/// |---|---|
/// | has a topic that is too long, or that the kiosk does not use | dropped, see `dropped` |
/// | has another part that is too large | rejected as `too_large` |
/// | has a payload that cannot be parsed | rejected as `malformed` |
/// | has a value that no kiosk accepts | rejected, see `Request.init(kind:payload:)` |
/// | exceeds the limit of its sender or of its kind, see `isWithinRate` | rejected as `rate_limited` |
/// | any other command | admitted |
///
/// The kiosk answers at most `maximumRejectionsPerSecond` of these rejections per second for each kind of
/// command. A message of a sensor is never rejected: if it cannot be read, it is a reading without a value.
///
/// The filter is not part of `Kiosk`, because its state (the number of messages of each sender in
/// this second) is large and need not be rolled back if a commit fails.
package struct CommandFilter: Sendable {
  /// The number of messages that the kiosk has ignored, because the topic is too long or the kiosk
  /// does not use it, or because a birth message or a request for a report is too large.
  package private(set) var dropped = 0
  private var settings: KioskSettings
  private var panels: PanelIndex
  /// The topics of birth messages and of the kiosk's own reports about payment. `dropped` includes
  /// such messages and requests for reports only if they are too large.
  private var otherTopics: Set<String>
  /// The machines by their status topics.
  private var machines: [String: MachineID]
  /// The payment devices by their status topics and by the topics of their totals.
  private var paymentTopics: [String: PaymentDeviceID] = [:]
  /// The sensors by their topics.
  private var sensors: [String: [KioskSettings.Sensor]]
  private var commandLimiter: RateLimiter<Source>
  /// Limits the commands of operators, of all names together, separately for each kind of command: the
  /// access list lets their account use each name.
  private var operatorLimiter: RateLimiter<Command.Kind>
  /// Limits the answers to rejected commands of all senders together, separately for each kind of
  /// command: a flood of malformed orders does not suppress the answer to a malformed restock.
  private var rejectionLimiter = RateLimiter<Command.Kind>(
    perSecond: Self.maximumRejectionsPerSecond)

  /// Maximum number of rejections of this filter that are answered per second, for each kind of command.
  /// Answering every message would double a flood. The kiosk only counts and logs further rejections.
  static let maximumRejectionsPerSecond = 100

  package init(settings: KioskSettings) {
    self.settings = settings
    panels = PanelIndex(settings.panels)
    otherTopics = Set(settings.birthTopics + settings.paymentReportTopics)
    machines = Dictionary(
      settings.machines.map { (settings.topics.status(of: $0.name), $0.name) },
      uniquingKeysWith: { first, _ in first })
    sensors = Dictionary(grouping: settings.sensors, by: \.binding.topic)
    for device in settings.payment?.devices ?? [] {
      paymentTopics[settings.topics.paymentStatus(of: device.name)] = device.name
      paymentTopics[settings.topics.paymentTotal(of: device.name)] = device.name
    }
    commandLimiter = RateLimiter(perSecond: settings.orders.maximumPerSecond)
    // One name alone cannot exhaust it.
    operatorLimiter = RateLimiter(perSecond: 2 * settings.orders.maximumPerSecond)
  }

  /// Replaces the settings. Keeps the counts of the rates: an operator's change must not lift the limits of
  /// all senders.
  package mutating func adopt(_ settings: KioskSettings) {
    var next = CommandFilter(settings: settings)
    (next.dropped, next.rejectionLimiter) = (dropped, rejectionLimiter)
    if settings.orders.maximumPerSecond == self.settings.orders.maximumPerSecond {
      (next.commandLimiter, next.operatorLimiter) = (commandLimiter, operatorLimiter)
    }
    self = next
  }

  /// Parses and checks a batch of deliveries.
  ///
  /// - Parameter tracker: Recognizes redeliveries.
  /// - Returns: The commands, readings and marks in the batch, including the rejected commands. One
  ///   delivery may result in several elements, for example if several panels share a topic.
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
    // The sender is unknown, because the topic is cut off.
    if delivery.excess == .topic { return [] }
    guard let source = settings.topics.source(ofCommandOn: topic) else {
      if let machine = machines[topic] {
        let parsed = ParsedDelivery(
          status: delivery.machineStatus, of: Source(kind: .made, name: machine.text),
          on: delivery, matching: match, settings: settings)
        return [limitRejections(parsed, at: now)]
      }
      if let device = paymentTopics[topic] {
        let parsed = ParsedDelivery(
          status: topic == settings.topics.paymentTotal(of: device)
            ? delivery.paymentTotal : delivery.paymentStatus,
          of: Source(kind: .paid, name: device.text), on: delivery, matching: match,
          settings: settings)
        return [limitRejections(parsed, at: now)]
      }
      let readings = readings(in: delivery, matching: match)
      return readings
        + panels.panels(subscribedTo: topic).flatMap { panel in
          admit(delivery, on: topic, of: panel, matching: match, at: now)
        }
    }
    // First, because a mutating call among the arguments would copy the settings.
    let isWithinRate = isWithinRate(delivery, from: source, at: now)
    let parsed = ParsedDelivery(
      command: delivery, from: source, matching: match, settings: settings,
      isWithinRate: isWithinRate)
    return [limitRejections(parsed, at: now)]
  }

  private func readings(
    in delivery: Delivery, matching match: DeliveryTracker.Match
  ) -> [ParsedDelivery] {
    guard !sensors.isEmpty, let bound = sensors[delivery.message.topic] else { return [] }
    // guard: a value that the broker has kept is no reading
    let isReadable = delivery.excess == nil && !delivery.message.retain
    return bound.filter { $0.binding.isOwn(delivery.message.payload) }.map { sensor in
      let value = isReadable ? sensor.binding.read(delivery.message.payload) : nil
      return ParsedDelivery(value, of: sensor.name, on: delivery, matching: match)
    }
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
            .success($0.request), from: $0.source,
            debounce: max($0.debounce ?? settings.orders.debounce, $0.leastDebounce),
            mark: panelMessage.mark)
        }
      }
      return panelMessage.mark.map { [parsed(nil, from: itself, mark: $0)] } ?? []
    } catch {
      return [parsed(.failure(Rejection(.malformed, "\(topic): \(error)")), from: itself)]
    }
  }

  /// Returns whether a delivery is within the rate limits of its sender and, unless it is an order, of its
  /// kind: the account of a panel has one name. Redeliveries are exempt, because the kiosk has admitted
  /// them before, or they arrive together after a reconnect. Messages of machines and payment devices are
  /// exempt, because they must not be lost.
  private mutating func isWithinRate(
    _ delivery: Delivery, from source: Source, at now: Moment
  ) -> Bool {
    if delivery.isRedelivery || source.kind == .made || source.kind == .paid { return true }
    guard commandLimiter.admit(source, at: now.timestamp) else { return false }
    // guard: an account that has each name has a limit
    return source.kind == .order || operatorLimiter.admit(source.kind, at: now.timestamp)
  }

  private mutating func limitRejections(_ parsed: ParsedDelivery, at now: Moment) -> ParsedDelivery
  {
    guard case .failure = parsed.request else { return parsed }
    var parsed = parsed
    // guard: a rate limit applies to answers to rejected commands
    parsed.isAnswered = rejectionLimiter.admit(parsed.source.kind, at: now.timestamp)
    return parsed
  }

  private mutating func isExpected(_ topic: String) -> Bool {
    otherTopics.contains(topic) || sensors[topic] != nil
      || settings.topics.sender(requestingReportOn: topic) != nil
      || !panels.panels(subscribedTo: topic).isEmpty
  }
}

extension Delivery {
  /// The status that a machine publishes. An empty payload (a cleared retained status) counts as
  /// `offline`.
  fileprivate var machineStatus: Result<Request, Rejection> {
    if let rejection { return .failure(rejection) }
    let text = String(decoding: message.payload, as: UTF8.self)
    guard let status = MachineStatus(text.isEmpty ? "offline" : text) else {
      return .failure(
        Rejection(.malformed, "not a machine status: use online, offline or 'fault: REASON'"))
    }
    return .success(Request(command: .machine(status)))
  }

  /// The status that a payment device publishes.
  fileprivate var paymentStatus: Result<Request, Rejection> {
    machineStatus.flatMap { request in
      guard case .machine(let status) = request.command, status.missingFruits.isEmpty else {
        return .failure(Rejection(.malformed, "a payment device is out of no fruit"))
      }
      guard case .fault(let reason) = status else {
        return .success(Request(command: .payment(status)))
      }
      return .success(Request(command: .payment(.fault(reason.asPaymentReason))))
    }
  }

  /// The total that a payment device publishes at the end of its day.
  fileprivate var paymentTotal: Result<Request, Rejection> {
    if let rejection { return .failure(rejection) }
    do {
      return .success(Request(command: .total(try PaymentTotal(payload: message.payload))))
    } catch {
      return .failure(Rejection(.malformed, "not a total: \(error)"))
    }
  }
}
