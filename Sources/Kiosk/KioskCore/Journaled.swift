package import KioskProtocol

/// A value that the core keeps in memory and the ledger stores in the table `state`, as the payload of a message.
package protocol StateRecord: FormattedMessage, Hashable {
  static var kind: StateKey.Kind { get }
}

/// The key of a row of the table `state`.
package struct StateKey: Hashable, Sendable {
  package enum Kind: String, Sendable {
    /// The level of a fruit's stock, unless it is `ok`.
    case alert
  }

  package let kind: Kind
  package let key: String

  package init(_ kind: Kind, _ key: String) {
    (self.kind, self.key) = (kind, key)
  }
}

/// A dictionary of records that remembers which keys have changed, so that the memory and the ledger cannot differ.
struct Journaled<Key: Hashable & LosslessStringConvertible & Sendable, Record: StateRecord>:
  Sendable
{
  private(set) var records: [Key: Record]
  /// The keys whose records differ from the ledger.
  private var changed: Set<Key> = []

  /// Creates a dictionary from the records of the ledger.
  init(_ records: [Key: Record]) { self.records = records }

  subscript(key: Key) -> Record? {
    get { records[key] }
    set {
      guard records[key] != newValue else { return }
      records[key] = newValue
      changed.insert(key)
    }
  }

  /// Moves the changes since the last call into a transaction.
  mutating func save(in transaction: inout LedgerTransaction) {
    for key in changed {
      transaction.state[StateKey(Record.kind, key.description)] = .some(records[key]?.payload)
    }
    changed.removeAll()
  }
}

extension StockAlert: StateRecord {
  package static let kind = StateKey.Kind.alert

  package init(_ members: inout Members<Self>) throws(JSONError) {
    self = try members.required("level", \.self)
  }
}
