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
  /// Who is online, as was told last.
  var presence: [KioskID: Bool] = [:]
  /// What has come of the menu from above, as was told last.
  var menus: [KioskID: DesiredMenuReport] = [:]
  var refusals: [Refusal] = []

  init(rows: [EventRow]) { self.rows = rows }

  /// - Parameter root: what the topics of the kiosks start with.
  package init(_ deliveries: [Delivery], root: String) {
    rows.reserveCapacity(deliveries.count)
    for delivery in deliveries {
      do throws(UnreadableEvent) {
        if let kiosk = Self.kiosk(of: delivery.message.topic, "status", root: root) {
          presence[kiosk] = try Self.isOnline(delivery)
        } else if let kiosk = Self.kiosk(of: delivery.message.topic, "menu/reported", root: root) {
          menus[kiosk] = try Self.menuReport(delivery)
        } else {
          rows.append(try Self.row(of: delivery, root: root))
        }
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
    guard let kiosk = kiosk(of: message.topic, "events", root: root) else {
      throw UnreadableEvent("the topic names no kiosk")
    }
    return try EventRow(message, of: kiosk)
  }

  /// - Throws: what is neither `online` nor `offline`. A status that somebody has taken away is the latter.
  private static func isOnline(_ delivery: Delivery) throws(UnreadableEvent) -> Bool {
    guard delivery.excess == nil else { throw UnreadableEvent("its status is too large") }
    switch delivery.message.payload {
    case Array("online".utf8): return true
    case Array("offline".utf8), []: return false
    default: throw UnreadableEvent("its status is neither online nor offline")
    }
  }

  private static func menuReport(
    _ delivery: Delivery
  ) throws(UnreadableEvent) -> DesiredMenuReport {
    guard delivery.excess == nil else { throw UnreadableEvent("its report is too large") }
    do throws(JSONError) { return try DesiredMenuReport(payload: delivery.message.payload) } catch {
      throw UnreadableEvent("\(error)")
    }
  }

  /// Who tells something on a topic.
  ///
  /// - Parameter what: the end of the topic, like `events`.
  static func kiosk(of topic: String, _ what: String, root: String) -> KioskID? {
    let (start, end) = ("\(root)/".utf8, "/\(what)".utf8)
    guard topic.utf8.count > start.count + end.count, topic.utf8.starts(with: start),
      topic.utf8.suffix(end.count).elementsEqual(end)
    else { return nil }
    return KioskID(topic.utf8.dropFirst(start.count).dropLast(end.count).asText)
  }
}

extension Substring.UTF8View {
  fileprivate var asText: String { String(Substring(self)) }
}
