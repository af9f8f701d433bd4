/// A column of the table `event` that stores a member of events, and the values it accepts.
struct EventColumn {
  enum Kind {
    case text
    case time
    /// Digits in quotes, optionally with a decimal point between them.
    case decimal
    case whole(ClosedRange<Int>)
    /// An object with an amount for each fruit.
    case amounts
  }

  let name: String
  let kind: Kind
  /// The name, which has at most eight letters, packed into a number.
  let key: UInt64

  private init(_ name: String, _ kind: Kind) {
    self.name = name
    self.kind = kind
    key = name.utf8.reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// The columns in the order of the table, between `kiosk` and `more`.
  static let all = [
    EventColumn("epoch", .whole(0...Int.max)),
    EventColumn("seq", .whole(seqs)),
    EventColumn("at", .time),
    EventColumn("status", .text),
    EventColumn("source", .text),
    EventColumn("id", .text),
    EventColumn("juice", .text),
    EventColumn("reason", .text),
    EventColumn("machine", .text),
    EventColumn("currency", .text),
    EventColumn("job", .whole(seqs)),
    EventColumn("ticket", .whole(counts)),
    EventColumn("quantity", .whole(counts)),
    EventColumn("place", .whole(counts)),
    EventColumn("amount", .decimal),
    EventColumn("changes", .amounts),
    EventColumn("missing", .amounts),
  ]

  /// Indices of columns in `all`. Of these, an event may omit only its epoch, which is then 0.
  static let (epoch, seq, at, status) = (0, 1, 2, 3)

  /// The limits guarantee that no computation overflows an `Int`.
  private static let seqs = 1...(1 << 53)
  private static let counts = 0...Int(Int32.max)
  /// The limits of the amount of a fruit that is added or removed.
  static let amounts = -1_000_000_000...1_000_000_000
}
