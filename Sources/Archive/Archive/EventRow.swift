package import JuiceDomain
import KioskProtocol
package import MessageBroker

/// An entry of a kiosk's ledger as a row of the table `event`.
///
/// It is decoded from the event itself and not from a `LedgerEntry`: a kiosk that is newer than the
/// archive may send members that `LedgerEntry` lacks, and the archive keeps them. It is a class
/// because rows are sorted.
package final class EventRow: Sendable {
  package let key: EventKey
  let at: Timestamp
  /// All columns as one line in the text format of COPY.
  let line: [UInt8]
  /// The message as it arrived.
  let message: Message

  /// The names of the columns in the order of `line`.
  static let columns = ["kiosk"] + EventColumn.all.map(\.name) + ["more"]
  package static let columnList = columns.joined(separator: ", ")

  /// Decodes an event.
  ///
  /// - Parameter kiosk: The kiosk that sent it.
  /// - Throws: `UnreadableEvent` if it is not an entry of a ledger, or if it contains a value that
  ///   PostgreSQL cannot store (U+0000, the year 0).
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

/// The key of an entry among those of all kiosks.
package struct EventKey: Hashable, Sendable {
  package let ledger: LedgerKey
  package let seq: Int
}

/// The key of a ledger. After a restore, a kiosk continues with a new epoch.
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

/// The reason why a message cannot be archived as an event.
package struct UnreadableEvent: Error, Hashable, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }
}
