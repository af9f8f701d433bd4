import CommandLineSupport
import KioskProtocol
import ZVT

/// The file of the charge journal. Each entry is on the disk when `write` returns. The caller must hold
/// the lock of the journal.
final class JournalFile {
  /// Maximum size in bytes. A larger file is an error.
  private static let maximumSize = 64 << 20
  /// Size in bytes above which opening shortens the file.
  private static let longSize = 4 << 20

  private struct Line {
    let entry: ChargeJournal.Entry
    /// The time at which the entry was written, or `nil` for a new one.
    var at: Timestamp?
  }

  var path: String { file.path }
  /// The journal at the time of the opening.
  let journal: ChargeJournal
  /// The time of the first entry that has one, or of the opening if none has.
  let begun: Timestamp
  /// Whether opening has created the file.
  let isNew: Bool
  private let file: RecordFile<Line>

  /// Whether the caller should open the file again, which shortens it.
  var isLong: Bool { file.size > 2 * Self.longSize }

  /// Opens and reads the file, and checks that it can be written.
  ///
  /// - Throws: `StateError` with exit code 65 if a line is damaged or the file is too large, 74 if the
  ///   disk is full, read-only or broken, or 78 if the file cannot be opened for another reason.
  init(path: String) throws(StateError) {
    file = Self.file(path)
    let contents = try file.read()
    (journal, begun) = Self.replay(contents.records)
    isNew = contents.isMissing
    if contents.size > Self.longSize {
      try file.replace(with: journal.shortened.map { Line(entry: $0) })
    }
    if isNew { try write(.summary(last: 0, ChargeJournal.Day(), nil)) } else { try file.probe() }
  }

  /// Returns the message for a journal that another program has locked.
  static func inUse(_ path: String) -> String { "\(path) is in use: another juice-zvt runs" }

  /// Reads a journal and the time of its first entry, without changing or locking the file.
  ///
  /// - Returns: `nil` if the file does not exist.
  static func view(
    _ path: String
  ) throws(StateError) -> (journal: ChargeJournal, begun: Timestamp)? {
    let contents = try file(path).read()
    return contents.isMissing ? nil : replay(contents.records)
  }

  func write(_ entry: ChargeJournal.Entry) throws(StateError) {
    try file.append([Line(entry: entry)])
  }

  private static func replay(_ lines: [Line]) -> (ChargeJournal, Timestamp) {
    var journal = ChargeJournal()
    for line in lines { journal.apply(line.entry) }
    return (journal, lines.lazy.compactMap(\.at).first ?? .now)
  }

  private static func file(_ path: String) -> RecordFile<Line> {
    RecordFile(
      path, upTo: maximumSize,
      whenDamaged: "restore the file, or move it away and see 'lost journal' in payment.md",
      encode: { $0.entry.line(at: $0.at ?? .now) },
      decode: { line in
        ChargeJournal.Entry(line: line).map { entry in
          Line(
            entry: entry, at: (try? JSON.parse(line))?.text("at").flatMap { Timestamp($0) })
        }
      })
  }
}
