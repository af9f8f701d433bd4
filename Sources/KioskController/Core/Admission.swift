package import KioskMessages
package import Ledger
import MessageBroker

/// A delivery that asks something of the kiosk, read but not yet decided on.
package struct Admission: Sendable {
  package let source: Source
  package let request: Result<Request, Rejection>
  let isRetained: Bool
  /// Under which a repeat of this request will be recognised; `nil` if none will be.
  let key: RepeatKey?
  /// Under which this request may be recognised as a repeat itself.
  package let repeatKeys: [RepeatKey]
  /// Whether the sender is told; what is carried out always is.
  var isAnswered = true
  private let resultTopic: String
  private let correlationData: [UInt8]?

  /// - Parameter original: under which the delivery is known if it comes again.
  init(
    _ delivery: Delivery, from source: Source, repeating original: Fingerprint?,
    topics: KioskTopics, isWithinRate: Bool
  ) {
    let message = delivery.message
    self.source = source
    isRetained = message.retain
    correlationData = message.correlationData
    resultTopic = topics.resultTopic(for: source, asking: message.responseTopic)
    request = Self.read(message, from: source, isWithinRate: isWithinRate)

    guard case .success(let admitted) = request else {
      (key, repeatKeys) = (nil, [])
      return
    }
    let requestKey = admitted.id.map { RepeatKey.request(source, $0) }
    let deliveryKey =
      delivery.packetID == 0 ? nil : RepeatKey.delivery(Fingerprint(delivery))
    // A retained message is known by its delivery, which need not say again that it was retained;
    // its id is not used up: sent unretained, it counts.
    key = message.retain ? deliveryKey : requestKey ?? deliveryKey
    repeatKeys = [requestKey, original.map(RepeatKey.delivery)].compactMap(\.self)
  }

  private static func read(
    _ message: Message, from source: Source, isWithinRate: Bool
  ) -> Result<Request, Rejection> {
    let decoded: Result<Request, Rejection> = Result { () throws(Rejection) in
      if let flaw = source.flaw { throw Rejection(.malformed, flaw) }
      return try Request(kind: source.kind, payload: message.payload)
    }
    guard !isWithinRate else { return decoded }
    let id =
      switch decoded {
      case .success(let request): request.id
      case .failure(let rejection): rejection.id
      }
    return .failure(
      Rejection(.rateLimited, "too many messages in one second: send fewer", id: id))
  }

  func answer(_ payload: [UInt8]) -> Answer {
    Answer(topic: resultTopic, correlationData: correlationData, payload: payload)
  }
}

extension KioskTopics {
  /// Where the answer goes: a response topic counts only below the sender's own topic, so that
  /// nobody makes the kiosk write where they may not write themselves.
  fileprivate func resultTopic(for source: Source, asking responseTopic: String?) -> String {
    guard let responseTopic, responseTopic.utf8.starts(with: (command(from: source) + "/").utf8),
      !responseTopic.utf8.contains(where: { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "#") })
    else { return result(for: source) }
    return responseTopic
  }
}
