import KioskProtocol

/// A column of the table `event` that stores a member of events, and the values it accepts.
///
/// `all` is the only list of columns: the tables, the decoder, COPY, the check for conflicts, and the
/// function `juice.payload`, which returns an entry as its kiosk sent it, are derived from it. A
/// member without a column is stored in `more`, so a new member of events needs no change here. A
/// change of the list needs a migration.
///
/// The limits permit all values that a kiosk sends, except a rejected quantity (see `stores`), and
/// PostgreSQL can store, index and sum up each permitted value.
struct EventColumn {
  enum Kind {
    /// A text of at most this number of bytes.
    case text(Int)
    case time
    /// A JSON string of digits, optionally with a decimal point between them; at most 32
    /// characters. With a currency, an amount of it.
    case decimal
    case whole(ClosedRange<Int>)
    /// An object with an amount for each fruit.
    case amounts
  }

  let name: String
  let kind: Kind

  private init(_ name: String, _ kind: Kind) {
    self.name = name
    self.kind = kind
  }

  /// The columns between `kiosk` and `more`, in the order of `EventRow.line`.
  static let all = [
    EventColumn("epoch", .whole(0...Int.max)),
    EventColumn("seq", .whole(seqs)),
    EventColumn("at", .time),
    EventColumn("status", .text(64)),
    // A kind, a slash, and a name of up to 64 Unicode scalars: see `Source.flaw`.
    EventColumn("source", .text(320)),
    EventColumn("id", .text(128)),
    EventColumn("juice", .text(128)),
    EventColumn("reason", .text(1024)),
    EventColumn("machine", .text(128)),
    EventColumn("currency", .text(16)),
    EventColumn("device", .text(128)),
    EventColumn("charge", .whole(seqs)),
    EventColumn("job", .whole(seqs)),
    EventColumn("ticket", .whole(counts)),
    EventColumn("quantity", .whole(counts)),
    EventColumn("place", .whole(counts)),
    EventColumn("amount", .decimal),
    EventColumn("changes", .amounts),
    EventColumn("missing", .amounts),
  ]

  /// The column in the definition of a table.
  var definition: String {
    switch kind {
    case .text: "\(name) text COLLATE \"C\"\(isRequired ? " NOT NULL" : "")"
    case .time: "\(name) timestamptz NOT NULL"
    case .decimal: "\(name) numeric"
    case .whole(let range):
      "\(name) \(range.upperBound > Int32.max ? "bigint" : "integer")\(isRequired ? " NOT NULL" : "")"
    case .amounts: "\(name) jsonb"
    }
  }

  /// An SQL expression for the member as a kiosk writes it.
  ///
  /// - Parameter table: The name of the row.
  func member(of table: String) -> String {
    switch kind {
    // A kiosk omits the fraction of a full second.
    case .time:
      """
      replace(to_char(\(table).\(name) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), '.000Z', 'Z')
      """
    case .decimal: "\(table).\(name)::text"
    // A kiosk without epochs omits the member.
    case .whole where name == "epoch": "nullif(\(table).\(name), 0)"
    case .text, .whole, .amounts: "\(table).\(name)"
    }
  }

  private var isRequired: Bool { ["epoch", "seq", "at", "status"].contains(name) }

  /// Indices of columns in `all`. Of these, an event may omit only its epoch, which is then 0.
  static let (epoch, seq, at, status) = (0, 1, 2, 3)
  static let (currency, amount) = (9, 16)

  /// Maximum number of bytes of all members without a column.
  static let maximumMore = 16_384
  /// Maximum number of characters of a number in a member without a column, and maximum magnitude
  /// of its exponent. `jsonb` stores a number with all its digits.
  static let maximumDigits = 400
  /// Maximum number of fruits in `changes` and in `missing`: as many as a configuration can have.
  static let maximumFruits = 1_000
  /// The limits of the amount of a fruit in `changes` and in `missing`.
  static let amounts = -1_000_000_000...1_000_000_000

  /// The limits guarantee that no computation overflows an `Int`.
  private static let seqs = 1...(1 << 53)
  private static let counts = 0...Int(Int32.max)

  /// Returns whether this column stores a member. A member that no column stores is a part of
  /// `more`, like an integer `quantity` out of range, which a rejected order may have.
  func stores(_ member: JSON.Member) -> Bool {
    guard member.key == name else { return false }
    guard name == "quantity", case .integer(let number) = member.value else { return true }
    return Self.counts.contains(number)
  }
}
