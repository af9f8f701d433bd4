import Devices
import JuiceDomain
package import KioskProtocol
package import MessageBroker

/// A request, a mark or a sensor's value in a delivery, not decided yet.
package struct ParsedDelivery: Sendable {
  package let source: Source
  /// The request or its rejection, or `nil` if the message only has a mark or a sensor's value.
  package let request: Result<Request, Rejection>?
  let isRetained: Bool
  /// The key under which the kiosk recognizes repeats of this request, or `nil` if it cannot.
  let key: RepeatKey?
  /// The keys under which the ledger may have recorded the same request, or the charge of this answer.
  package let repeatKeys: [RepeatKey]
  /// See `DeliveryTracker.Match`.
  let skipped: ArraySlice<Fingerprint>
  /// The mark of the device. The request counts only if the mark is new.
  private(set) var mark: PanelMessage.Mark?
  /// The time within which an equal press counts as the same one.
  private(set) var debounce = Duration.zero
  /// Whether the kiosk answers a rejection. `CommandFilter` limits the number of such answers.
  var isAnswered = true
  /// The response topic and correlation data that the sender requested, or `nil` if it requested
  /// none.
  private(set) var reply: Reply?
  /// The sensor and its value in thousandths of the unit, or `nil` if this is not a message of a
  /// sensor. The value is `nil` if the message has none.
  private(set) var reading: (sensor: SensorID, value: Int?)?
  private let defaultTopic: String
  /// Whether the sender gets short results.
  private var isShort = false

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
    if case .paid(let answer) = admitted.command {
      (key, repeatKeys) = (nil, [.charge(answer.charge)])
      return
    }
    let requestKey = admitted.id.map { RepeatKey.request(source, $0) }
    if let requestKey, !isRetained {
      key = requestKey
    } else {
      // The kiosk identifies a retained message by its delivery, because the redelivery need not have the
      // retain flag. The kiosk still executes a command with the same id and without that flag.
      key = delivery.packetID == 0 ? nil : RepeatKey.delivery(Fingerprint(delivery))
    }
    // guard: the ids of senders are stored
    // guard: the fingerprints of deliveries are stored
    repeatKeys = [requestKey, match.original.map(RepeatKey.delivery)].compactMap(\.self)
  }

  /// Parses a command on one of the kiosk's own topics.
  ///
  /// - Parameter match: The result of looking up the delivery.
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
    isShort = settings.orders.shortResults.contains(source.name)
    let topic = settings.topics.responseTopic(of: source, requested: message.responseTopic)
    if topic != nil || message.correlationData != nil {
      reply = Reply(topic: topic, correlationData: message.correlationData)
    }
    debounce = settings.orders.debounce
  }

  /// Creates a delivery with the parsed status of a machine or payment device, or the parsed total
  /// of a payment device.
  init(
    status: Result<Request, Rejection>, of source: Source, on delivery: Delivery,
    matching match: DeliveryTracker.Match, settings: KioskSettings
  ) {
    self.init(
      status, from: source, on: delivery, matching: match,
      answerTopic: settings.topics.result(for: source))
  }

  /// Creates a delivery with the parsed message of a panel, or with one of the presses in it.
  ///
  /// - Parameters:
  ///   - debounce: The debounce of this press, or `nil` for the kiosk's setting.
  ///   - match: The result of looking up the delivery.
  init(
    _ request: Result<Request, Rejection>?, from source: Source, debounce: Duration?,
    mark: PanelMessage.Mark?, on delivery: Delivery,
    matching match: DeliveryTracker.Match, settings: KioskSettings, isWithinRate: Bool
  ) {
    self.init(
      isWithinRate ? request : request?.rateLimited, from: source, on: delivery,
      matching: match, answerTopic: settings.topics.result(for: source))
    self.mark = mark
    isShort = settings.orders.shortResults.contains(source.name)
    self.debounce = debounce ?? settings.orders.debounce
  }

  /// Creates a delivery with the value of a sensor.
  ///
  /// - Parameter value: The value in thousandths of the unit, or `nil` if the message has none.
  init(
    _ value: Int?, of sensor: SensorID, on delivery: Delivery, matching match: DeliveryTracker.Match
  ) {
    self.init(
      nil, from: Source(kind: .made, name: sensor.text), on: delivery, matching: match,
      answerTopic: "")
    reading = (sensor, value)
  }

  package func answer(_ result: CommandResult) -> Message {
    Message(
      topic: reply?.topic ?? defaultTopic, payload: isShort ? result.shortPayload : result.payload,
      correlationData: reply?.correlationData)
  }
}

extension Delivery {
  /// The rejection of a delivery with a part that is too large, or `nil` if no part is too large.
  var rejection: Rejection? {
    excess.map { Rejection(.tooLarge, "the \($0.rawValue) is too large") }
  }
}

extension KioskTopics {
  /// Returns the requested response topic; or `nil` if there is none, or it has a wildcard or is not below the
  /// sender's own topic: a sender must not make the kiosk publish on topics that are closed to the sender.
  fileprivate func responseTopic(of source: Source, requested topic: String?) -> String? {
    guard let topic, topic.utf8.starts(with: (command(from: source) + "/").utf8),
      !topic.utf8.contains(where: { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "#") })
    else { return nil }
    return topic
  }
}

extension KioskSettings {
  /// Returns the message that answers the sender of a row's command.
  ///
  /// - Parameter isRepeated: Whether the sender may have received the answer before.
  /// - Returns: The answer, or `nil` for an entry without a sender.
  package func answer(
    _ row: LedgerRow, to reply: Reply?, isRepeated: Bool = false
  ) -> Message? {
    guard let source = row.entry.source else { return nil }
    var result = row.result
    result.isDuplicate = isRepeated
    let isShort = orders.shortResults.contains(source.name)
    return Message(
      topic: reply?.topic ?? topics.result(for: source),
      payload: isShort ? result.shortPayload : result.payload,
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

extension ParsedDelivery {
  /// Returns a rejection with the id of the request.
  package func rejection(_ reason: RejectionReason, _ detail: String) -> Rejection {
    // Without a valid request, the id is omitted.
    Rejection(reason, detail, id: (try? request?.get())?.id)
  }
}
