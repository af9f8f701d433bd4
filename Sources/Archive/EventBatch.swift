import JuiceDomain
import KioskMessages
package import MessageBroker

/// The deliveries of a batch as what is to be stored.
package struct EventBatch: Sendable {
  /// What cannot be archived.
  struct Refusal: Sendable {
    let message: Message
    let why: String
  }

  /// In the order of their keys.
  var rows: [EventRow] = []
  var refusals: [Refusal] = []

  init(rows: [EventRow], refusals: [Refusal] = []) {
    self.rows = rows
    self.refusals = refusals
  }

  /// - Parameter root: what the topics of the kiosks start with.
  package init(_ deliveries: [Delivery], root: String) {
    rows.reserveCapacity(deliveries.count)
    for delivery in deliveries {
      do throws(UnreadableEvent) {
        rows.append(try Self.row(of: delivery, root: root))
      } catch {
        refusals.append(Refusal(message: delivery.message, why: error.description))
      }
    }
    rows.sort { $0.key < $1.key }
  }

  /// The rows in the text format of COPY.
  package var copyText: [UInt8] {
    var text = CopyText()
    for row in rows { text.append(row) }
    return text.bytes
  }

  private static func row(
    of delivery: Delivery, root: String
  ) throws(UnreadableEvent) -> EventRow {
    let message = delivery.message
    if let excess = delivery.excess { throw UnreadableEvent("its \(excess.rawValue) is too large") }
    guard let kiosk = kiosk(ofEventOn: message.topic, root: root) else {
      throw UnreadableEvent("the topic names no kiosk")
    }
    return try EventRow(message, of: kiosk)
  }

  /// Who tells events on a topic.
  static func kiosk(ofEventOn topic: String, root: String) -> KioskID? {
    let (start, end) = ("\(root)/".utf8, "/events".utf8)
    guard topic.utf8.count > start.count + end.count, topic.utf8.starts(with: start),
      topic.utf8.suffix(end.count).elementsEqual(end)
    else { return nil }
    return KioskID(topic.utf8.dropFirst(start.count).dropLast(end.count).asText)
  }
}

extension Substring.UTF8View {
  fileprivate var asText: String { String(Substring(self)) }
}
