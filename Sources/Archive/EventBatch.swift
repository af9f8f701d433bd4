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
    // Sorted at once, most comparisons would be of names that are the same.
    rows = Dictionary(grouping: rows, by: \.key.ledger).sorted { $0.key < $1.key }
      .flatMap { $0.value.sorted { $0.key.seq < $1.key.seq } }
  }

  /// The rows in the text format of COPY.
  package var copyText: [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(rows.reduce(0) { $0 + $1.line.count })
    for row in rows { text += row.line }
    return text
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
    let (slash, topic) = (UInt8(ascii: "/"), topic.utf8)
    guard topic.count > root.utf8.count + what.utf8.count, topic.starts(with: root.utf8),
      topic.suffix(what.utf8.count).elementsEqual(what.utf8)
    else { return nil }
    let middle = topic.dropFirst(root.utf8.count).dropLast(what.utf8.count)
    guard middle.count > 2, middle.first == slash, middle.last == slash else { return nil }
    return KioskID(Substring(middle.dropFirst().dropLast()))
  }
}
