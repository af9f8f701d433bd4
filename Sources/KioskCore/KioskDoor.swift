import KioskMessages
package import MessageBroker
import Panels

/// Where deliveries come in: what is no command is turned away before the ledger is asked.
///
/// Apart from the core, because what it remembers (who has sent how much in this second) is large,
/// and not worth taking back when a decision cannot be committed.
package struct KioskDoor: Sendable {
  /// Messages that were no command and get no answer.
  package private(set) var dropped = 0
  private var settings: KioskSettings
  private var panels: PanelDirectory
  /// Topics on which somebody says that they are back, which is no command and not dropped.
  private var birthTopics: Set<String>
  /// By the topics on which they say how they are.
  private var machines: [String: MachineID]
  private var rate: RateLimit<Source>
  /// Of all senders together, and for each kind of command, so that the desk is told what is wrong
  /// with a restock whatever the panels do.
  private var refusals = RateLimit<Command.Kind>(perSecond: Self.refusalsPerSecond)

  /// So many refusals are told, whoever asks: one for each message would double a flood. The others
  /// are only counted.
  static let refusalsPerSecond = 100

  package init(settings: KioskSettings) {
    self.settings = settings
    panels = PanelDirectory(settings.panels)
    birthTopics = Set(settings.birthTopics)
    machines = Dictionary(
      settings.machines.map { (settings.topics.status(of: $0.name), $0.name) },
      uniquingKeysWith: { first, _ in first })
    rate = RateLimit(perSecond: settings.orders.maximumPerSecond)
  }

  /// Goes on under other rules. Who sends too much is counted anew.
  package mutating func adopt(_ settings: KioskSettings) {
    var next = KioskDoor(settings: settings)
    next.dropped = dropped
    self = next
  }

  /// - Parameter settlement: knows which of the deliveries have come before.
  package mutating func admit(
    _ deliveries: [Delivery], recognisedBy settlement: inout Settlement, at now: Moment
  ) -> [Admission] {
    var admissions: [Admission] = []
    admissions.reserveCapacity(deliveries.count)
    for delivery in deliveries {
      let admitted = admit(delivery, recognised: settlement.recognise(delivery), at: now)
      if admitted.isEmpty, delivery.excess != nil || !isExpected(delivery.message.topic) {
        dropped += 1
      }
      admissions += admitted
    }
    return admissions
  }

  private mutating func admit(
    _ delivery: Delivery, recognised recognition: Settlement.Recognition, at now: Moment
  ) -> [Admission] {
    let topic = delivery.message.topic
    // Whose it is cannot be said.
    if delivery.excess == .topic { return [] }
    guard let source = settings.topics.source(ofCommandOn: topic) else {
      if let machine = machines[topic] {
        let admission = Admission(
          status: delivery.machineStatus, of: machine, on: delivery, recognised: recognition,
          settings: settings)
        return [answered(admission, at: now)]
      }
      return panels.panels(hearing: topic).flatMap { panel in
        admit(delivery, on: topic, of: panel, recognised: recognition, at: now)
      }
    }
    let admission = Admission(
      command: delivery, from: source, recognised: recognition, settings: settings,
      isWithinRate: isWithinRate(delivery, from: source, at: now))
    return [answered(admission, at: now)]
  }

  private mutating func admit(
    _ delivery: Delivery, on topic: String, of panel: PanelBinding,
    recognised recognition: Settlement.Recognition, at now: Moment
  ) -> [Admission] {
    func admission(
      _ request: Result<Request, Rejection>?, from source: Source, debounce: Duration? = nil,
      mark: PanelReading.Mark? = nil
    ) -> Admission {
      let isWithinRate = request == nil || isWithinRate(delivery, from: source, at: now)
      return answered(
        Admission(
          request, from: source, debounce: debounce, mark: mark, on: delivery,
          recognised: recognition, settings: settings, isWithinRate: isWithinRate), at: now)
    }
    let itself = Source(kind: .order, name: panel.name)
    let message = delivery.message
    if let rejection = delivery.rejection { return [admission(.failure(rejection), from: itself)] }
    do throws(Unreadable) {
      let reading = try panel.read(message.payload, on: topic, isRetained: message.retain)
      guard reading.requests.isEmpty else {
        return reading.requests.map {
          admission(
            .success($0.request), from: $0.source, debounce: $0.debounce, mark: reading.mark)
        }
      }
      return reading.mark.map { [admission(nil, from: itself, mark: $0)] } ?? []
    } catch {
      return [admission(.failure(Rejection(.malformed, "\(topic): \(error)")), from: itself)]
    }
  }

  /// What comes again was let in once, or has waited long enough since it was not. What a machine
  /// says of its jobs is not to be lost.
  private mutating func isWithinRate(
    _ delivery: Delivery, from source: Source, at now: Moment
  ) -> Bool {
    delivery.isRedelivery || source.kind == .made || rate.admit(source, at: now.timestamp)
  }

  private mutating func answered(_ admission: Admission, at now: Moment) -> Admission {
    guard case .failure = admission.request else { return admission }
    var admission = admission
    // guard: refusals are told so often and no more
    admission.isAnswered = refusals.admit(admission.source.kind, at: now.timestamp)
    return admission
  }

  private mutating func isExpected(_ topic: String) -> Bool {
    birthTopics.contains(topic) || !panels.panels(hearing: topic).isEmpty
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
