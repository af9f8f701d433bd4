/// A column of the table `event` that has a member of events, and what that must be.
struct EventColumn {
  enum Kind {
    case text
    case time
    /// Digits in quotes, and perhaps a point between them.
    case decimal
    case whole(ClosedRange<Int>)
    /// How much of which fruit.
    case amounts
  }

  let name: String
  let kind: Kind
  /// The name, which has eight letters at most, as a number.
  let key: UInt64

  private init(_ name: String, _ kind: Kind) {
    self.name = name
    self.kind = kind
    key = name.utf8.reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// In the order of the table, between `kiosk` and `more`.
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

  /// Where they are in `all`; of these, an event may only lack its epoch, which is 0 then.
  static let (epoch, seq, at, status) = (0, 1, 2, 3)

  /// So many that nothing is ever computed beyond an `Int`.
  private static let seqs = 1...(1 << 53)
  private static let counts = 0...Int(Int32.max)
  /// The same for fruit that is given and taken.
  static let amounts = -1_000_000_000...1_000_000_000
}
