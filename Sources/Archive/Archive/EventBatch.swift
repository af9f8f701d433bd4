import JuiceDomain
import KioskProtocol
package import MessageBroker

/// A batch of deliveries, decoded into the values that the archive stores.
package struct EventBatch: Sendable {
  /// A message that is stored in `quarantine`, because it cannot be decoded or the database rejects
  /// it.
  struct QuarantinedMessage: Sendable {
    let message: Message
    let reason: String
  }

  /// The events, sorted by key.
  var rows: [EventRow] = []
  /// Whether a kiosk is online, by its last status in the batch.
  var presence: [KioskID: Bool] = [:]
  /// The last report in the batch of each kiosk about the menu that the chain sent it.
  var menus: [KioskID: DesiredMenuReport] = [:]
  /// The highest number of each ledger's last entry that `health` reports in the batch.
  var positions: [LedgerKey: Int] = [:]
  var rejections: [QuarantinedMessage] = []

  /// Whether the batch has a message of a kiosk that the archive could read.
  var hasArrivals: Bool {
    !rows.isEmpty || !presence.isEmpty || !menus.isEmpty || !positions.isEmpty
  }

  init(rows: [EventRow]) { self.rows = rows }

  /// Decodes deliveries. A delivery that cannot be decoded becomes a rejection.
  ///
  /// - Parameter root: The topic levels before the kiosk id, the same for all kiosks.
  package init(_ deliveries: [Delivery], root: String) {
    rows.reserveCapacity(deliveries.count)
    for delivery in deliveries {
      do throws(UnreadableEvent) {
        if let excess = delivery.excess {
          throw UnreadableEvent("its \(excess.rawValue) is too large")
        }
        let message = delivery.message
        // Tests for events first, because most messages are events.
        if let kiosk = Self.kiosk(of: message.topic, "events", root: root) {
          rows.append(try EventRow(message, of: kiosk))
        } else if let kiosk = Self.kiosk(of: message.topic, "status", root: root) {
          presence[kiosk] = try Self.isOnline(message.payload)
        } else if let kiosk = Self.kiosk(of: message.topic, "menu/reported", root: root) {
          menus[kiosk] = try Self.menuReport(message.payload)
        } else if let kiosk = Self.kiosk(of: message.topic, "health", root: root) {
          guard let last = try Self.position(message.payload) else { continue }
          let ledger = LedgerKey(kiosk: kiosk, epoch: last.epoch)
          positions[ledger] = max(positions[ledger] ?? 0, last.seq)
        } else {
          throw UnreadableEvent("the topic contains no kiosk id")
        }
      } catch {
        rejections.append(QuarantinedMessage(message: delivery.message, reason: error.description))
      }
    }
    // Groups by ledger before sorting: a plain sort would spend most comparisons on equal kiosk
    // names.
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

  /// Returns whether a status means online. An empty payload, which is a cleared status, means
  /// offline.
  ///
  /// - Throws: `UnreadableEvent` if the payload is neither `online` nor `offline`.
  private static func isOnline(_ payload: [UInt8]) throws(UnreadableEvent) -> Bool {
    switch payload {
    case Array("online".utf8): return true
    case Array("offline".utf8), []: return false
    default: throw UnreadableEvent("its status is neither online nor offline")
    }
  }

  /// Returns the position of the ledger's last entry, or `nil` if the report is cleared (an empty
  /// payload) or contains no position.
  private static func position(
    _ health: [UInt8]
  ) throws(UnreadableEvent) -> LedgerPosition? {
    do throws(JSONError) {
      return health.isEmpty ? nil : try LedgerPosition(health: health)
    } catch {
      throw UnreadableEvent("\(error)")
    }
  }

  private static func menuReport(_ payload: [UInt8]) throws(UnreadableEvent) -> DesiredMenuReport {
    do throws(JSONError) { return try DesiredMenuReport(payload: payload) } catch {
      throw UnreadableEvent("\(error)")
    }
  }

  /// Returns the kiosk that a topic names, or `nil` if the topic has another form or an invalid id.
  ///
  /// - Parameter what: The topic levels after the kiosk id, such as `events`.
  static func kiosk(of topic: String, _ what: String, root: String) -> KioskID? {
    let slash = UInt8(ascii: "/")
    var topic = topic
    // Compares bytes, because a comparison of `String`s would search for the bounds of characters.
    return topic.withUTF8 { bytes in
      let middle = bytes.dropFirst(root.utf8.count).dropLast(what.utf8.count)
      guard middle.count > 2, middle.first == slash, middle.last == slash,
        bytes.starts(with: root.utf8), bytes[middle.endIndex...].elementsEqual(what.utf8)
      else { return nil }
      return KioskID(String(decoding: middle.dropFirst().dropLast(), as: UTF8.self))
    }
  }
}
