import Devices
import JuiceDomain
package import KioskProtocol
package import MessageBroker

/// A delivery that asks something of the kiosk, read but not yet decided on.
package struct ParsedDelivery: Sendable {
  package let source: Source
  /// `nil` if a device only tells by what its next message is to be measured.
  package let request: Result<Request, Rejection>?
  let isRetained: Bool
  /// Under which a repeat of this request will be recognised; `nil` if none will be.
  let key: RepeatKey?
  /// Under which this request may be recognised as a repeat itself.
  package let repeatKeys: [RepeatKey]
  /// See `DeliveryTracker.Match`.
  let skipped: ArraySlice<Fingerprint>
  /// Of the device: the request counts only if this is new.
  private(set) var mark: PanelMessage.Mark?
  /// The same press again within this time is the same one.
  private(set) var debounce = Duration.zero
  /// Whether the sender is told; what is carried out always is.
  var isAnswered = true
  /// How the sender has asked for its answer; `nil`: it has not.
  private(set) var reply: Reply?
  private let defaultTopic: String

  private init(
    _ request: Result<Request, Rejection>?, from source: Source, on delivery: Delivery,
    matching match: DeliveryTracker.Match, answerTopic defaultTopic: String
  ) {
    self.source = source
    self.request = request
    isRetained = delivery.message.retain
    self.defaultTopic = defaultTopic
    skipped = match.skipped
    guard case .success(let admitted) = request else {
      (key, repeatKeys) = (nil, [])
      return
    }
    let requestKey = admitted.id.map { RepeatKey.request(source, $0) }
    if let requestKey, !isRetained {
      key = requestKey
    } else {
      // A retained message is known by its delivery, which need not say again that it was retained;
      // its id is not used up: sent unretained, it counts.
      key = delivery.packetID == 0 ? nil : RepeatKey.delivery(Fingerprint(delivery))
    }
    // guard: the ids of senders are remembered
    // guard: the fingerprints of deliveries are remembered
    repeatKeys = [requestKey, match.original.map(RepeatKey.delivery)].compactMap(\.self)
  }

  /// A command on the kiosk's own topics.
  ///
  /// - Parameter match: whether the delivery has come before.
  init(
    command delivery: Delivery, from source: Source, matching match: DeliveryTracker.Match,
    settings: KioskSettings, isWithinRate: Bool
  ) {
    let message = delivery.message
    let request = Result { () throws(Rejection) in
      if let flaw = source.flaw { throw Rejection(.malformed, flaw) }
      if let rejection = delivery.rejection { throw rejection }
      return try Request(kind: source.kind, payload: message.payload)
    }
    self.init(
      isWithinRate ? request : request.rateLimited, from: source, on: delivery,
      matching: match, answerTopic: settings.topics.result(for: source))
    let topic = settings.topics.responseTopic(of: source, requested: message.responseTopic)
    if topic != nil || message.correlationData != nil {
      reply = Reply(topic: topic, correlationData: message.correlationData)
    }
    debounce = settings.orders.debounce
  }

  /// What a machine says of itself.
  init(
    status: Result<Request, Rejection>, of machine: MachineID, on delivery: Delivery,
    matching match: DeliveryTracker.Match, settings: KioskSettings
  ) {
    let source = Source(kind: .made, name: machine.text)
    self.init(
      status, from: source, on: delivery, matching: match,
      answerTopic: settings.topics.result(for: source))
  }

  /// A message of a bound device, or one of the presses in it.
  ///
  /// - Parameters:
  ///   - debounce: of this press; `nil`: the kiosk's.
  ///   - match: whether the delivery has come before.
  init(
    _ request: Result<Request, Rejection>?, from source: Source, debounce: Duration?,
    mark: PanelMessage.Mark?, on delivery: Delivery,
    matching match: DeliveryTracker.Match, settings: KioskSettings, isWithinRate: Bool
  ) {
    self.init(
      isWithinRate ? request : request?.rateLimited, from: source, on: delivery,
      matching: match, answerTopic: settings.topics.result(for: source))
    self.mark = mark
    self.debounce = debounce ?? settings.orders.debounce
  }

  func answer(_ result: CommandResult) -> Message {
    Message(
      topic: reply?.topic ?? defaultTopic, payload: result.payload,
      correlationData: reply?.correlationData)
  }
}

extension Delivery {
  /// Of what was too large.
  var rejection: Rejection? {
    excess.map { Rejection(.tooLarge, "the \($0.rawValue) is too large") }
  }
}

extension KioskTopics {
  /// A response topic counts only below the sender's own topic, so that nobody makes the kiosk write
  /// where they may not write themselves.
  fileprivate func responseTopic(of source: Source, requested topic: String?) -> String? {
    guard let topic, topic.utf8.starts(with: (command(from: source) + "/").utf8),
      !topic.utf8.contains(where: { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "#") })
    else { return nil }
    return topic
  }

  /// The answer to a row's sender; `nil` if nobody asked.
  ///
  /// - Parameter isRepeated: it may have arrived before.
  package func answer(
    _ row: LedgerRow, to reply: Reply?, isRepeated: Bool = false
  ) -> Message? {
    guard let source = row.entry.source else { return nil }
    var result = row.result
    result.isDuplicate = isRepeated
    return Message(
      topic: reply?.topic ?? self.result(for: source), payload: result.payload,
      correlationData: reply?.correlationData)
  }
}

extension Result<Request, Rejection> {
  fileprivate var rateLimited: Self {
    let id =
      switch self {
      case .success(let request): request.id
      case .failure(let rejection): rejection.id
      }
    return .failure(
      Rejection(.rateLimited, "too many messages in one second: send fewer", id: id))
  }
}
