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
    /// The last value of a device's counter or contact.
    case mark
    /// Fruit with a date, and expired fruit that no person has taken out yet.
    case batch, expired
    /// A configured machine, or a removed one whose juices no machine makes now.
    case maker
    /// The last status of a machine, and its number of consecutive failed jobs.
    case machine
    /// The schedule of a program that is or was configured.
    case program
    case sensor
    /// An accepted order or requested program that is not made yet.
    case job
    /// A charge whose money may still move.
    case charge
    /// The last status of a payment device, and its sums since its last total.
    case paymentDevice = "payment_device"
    /// A filter that the session with the broker may contain. The core does not read it.
    case subscription

    /// Whether the records contain times, so that the ledger also records the clocks.
    var hasTimes: Bool { self == .batch || self == .program || self == .sensor }
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
  private(set) var changed: Set<Key> = []

  /// Creates a dictionary from the records of the ledger.
  init(_ records: [Key: Record]) { self.records = records }

  var isSaved: Bool { changed.isEmpty }

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
    for key in changed { transaction.set(records[key], of: key) }
    changed.removeAll()
  }
}

extension StockAlert: StateRecord {
  package static let kind = StateKey.Kind.alert

  package init(_ members: inout Members<Self>) throws(JSONError) {
    self = try members.required("level", \.self)
  }
}

/// A record that begins with a request and is deleted at its end.
package protocol OpenRecord: StateRecord {
  /// The number by which records are sorted.
  var number: Int { get }
  /// The key, which never changes.
  var key: Int { get }
}

/// Records in the order of their numbers, with the changes that are not stored yet, as in `Journaled`.
struct OpenRecords<Record: OpenRecord>: Sendable {
  private(set) var all: [Record]
  private var changed: Set<Int> = []

  /// Creates a list from the records of the ledger, in the order of their numbers.
  init(_ records: [Record]) { all = records }

  subscript(key: Int) -> Record? {
    get { all.first { $0.key == key } }
    set {
      changed.insert(key)
      all.removeAll { $0.key == key }
      guard let newValue else { return }
      all.insert(newValue, at: (all.lastIndex { $0.number < newValue.number } ?? -1) + 1)
    }
  }

  /// Moves the changes since the last call into a transaction.
  mutating func save(in transaction: inout LedgerTransaction) {
    for key in changed { transaction.set(self[key], of: key) }
    changed.removeAll()
  }
}

/// The JSON number of milliseconds.
extension Duration: MemberValue {
  package init?(member: JSON) {
    guard let milliseconds = member.wholeNumber else { return nil }
    self = .milliseconds(milliseconds)
  }

  package func write(_ key: StaticString, to json: inout JSONWriter) {
    json.member(key, Int(milliseconds))
  }
}
