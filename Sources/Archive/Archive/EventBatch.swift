import JuiceDomain
import KioskProtocol
package import MessageBroker

/// The deliveries of a batch as what is to be stored.
package struct EventBatch: Sendable {
  /// What cannot be archived.
  struct Rejection: Sendable {
    let message: Message
    let reason: String
  }

  /// In the order of their keys.
  var rows: [EventRow] = []
  /// Who is online, as was told last.
  var presence: [KioskID: Bool] = [:]
  /// What has come of the menu from above, as was told last.
  var menus: [KioskID: DesiredMenuReport] = [:]
  var rejections: [Rejection] = []

  init(rows: [EventRow]) { self.rows = rows }

  /// - Parameter root: what the topics of the kiosks start with.
  package init(_ deliveries: [Delivery], root: String) {
    rows.reserveCapacity(deliveries.count)
    for delivery in deliveries {
      do throws(UnreadableEvent) {
        if let excess = delivery.excess {
          throw UnreadableEvent("its \(excess.rawValue) is too large")
        }
        let message = delivery.message
        // Most are events.
        if let kiosk = Self.kiosk(of: message.topic, "events", root: root) {
          rows.append(try EventRow(message, of: kiosk))
        } else if let kiosk = Self.kiosk(of: message.topic, "status", root: root) {
          presence[kiosk] = try Self.isOnline(message.payload)
        } else if let kiosk = Self.kiosk(of: message.topic, "menu/reported", root: root) {
          menus[kiosk] = try Self.menuReport(message.payload)
        } else {
          throw UnreadableEvent("the topic names no kiosk")
        }
      } catch {
        rejections.append(Rejection(message: delivery.message, reason: error.description))
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

  /// - Throws: what is neither `online` nor `offline`. A status that somebody has taken away is the latter.
  private static func isOnline(_ payload: [UInt8]) throws(UnreadableEvent) -> Bool {
    switch payload {
    case Array("online".utf8): return true
    case Array("offline".utf8), []: return false
    default: throw UnreadableEvent("its status is neither online nor offline")
    }
  }

  private static func menuReport(_ payload: [UInt8]) throws(UnreadableEvent) -> DesiredMenuReport {
    do throws(JSONError) { return try DesiredMenuReport(payload: payload) } catch {
      throw UnreadableEvent("\(error)")
    }
  }

  /// Who tells something on a topic.
  ///
  /// - Parameter what: the end of the topic, like `events`.
  static func kiosk(of topic: String, _ what: String, root: String) -> KioskID? {
    let slash = UInt8(ascii: "/")
    var topic = topic
    // By its bytes: a String would look for characters in it.
    return topic.withUTF8 { bytes in
      let middle = bytes.dropFirst(root.utf8.count).dropLast(what.utf8.count)
      guard middle.count > 2, middle.first == slash, middle.last == slash,
        bytes.starts(with: root.utf8), bytes[middle.endIndex...].elementsEqual(what.utf8)
      else { return nil }
      return KioskID(String(decoding: middle.dropFirst().dropLast(), as: UTF8.self))
    }
  }
}
