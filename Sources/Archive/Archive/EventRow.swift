package import JuiceDomain
import KioskProtocol
package import MessageBroker

/// An entry of a kiosk's ledger as a row of the table `event`.
///
/// It is read from the event itself and not by way of `LedgerEntry`: a kiosk that is newer than the
/// archive may tell of things that no `LedgerEntry` holds yet, and the archive keeps them. A class, since
/// rows are sorted.
package final class EventRow: Sendable {
  package let key: EventKey
  let at: Timestamp
  /// All columns, as COPY reads them.
  let line: [UInt8]
  /// As it arrived.
  let message: Message

  /// In the order of `line`.
  static let columns = ["kiosk"] + EventColumn.all.map(\.name) + ["more"]
  package static let columnList = columns.joined(separator: ", ")

  /// Reads an event.
  ///
  /// - Parameter kiosk: who has told it.
  /// - Throws: `UnreadableEvent`: it is no entry of a ledger, or holds what PostgreSQL cannot (U+0000, the
  ///   year 0).
  package init(_ message: Message, of kiosk: KioskID) throws(UnreadableEvent) {
    self.message = message
    if let event = PlainEvent(message.payload) {
      key = EventKey(ledger: LedgerKey(kiosk: kiosk, epoch: event.epoch), seq: event.seq)
      (at, line) = (event.at, event.line(of: kiosk))
    } else {
      let event = try EventTree(message.payload)
      key = EventKey(ledger: LedgerKey(kiosk: kiosk, epoch: event.epoch), seq: event.seq)
      (at, line) = (event.at, event.line(of: kiosk))
    }
  }
}

/// Names an entry among those of all kiosks.
package struct EventKey: Hashable, Sendable {
  package let ledger: LedgerKey
  package let seq: Int
}

/// Names a ledger: after a restore a kiosk goes on with another one.
package struct LedgerKey: Hashable, Sendable {
  package let kiosk: KioskID
  package let epoch: Int

  package init(kiosk: KioskID, epoch: Int) {
    self.kiosk = kiosk
    self.epoch = epoch
  }
}

extension LedgerKey: Comparable {
  package static func < (left: Self, right: Self) -> Bool {
    (left.kiosk, left.epoch) < (right.kiosk, right.epoch)
  }
}

extension EventKey: Comparable {
  package static func < (left: Self, right: Self) -> Bool {
    (left.ledger, left.seq) < (right.ledger, right.seq)
  }
}

/// Why a message cannot be archived as an event.
package struct UnreadableEvent: Error, Hashable, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }
}
