import ArgumentParser
import CommandLineSupport
import Foundation
import KioskProtocol
import ZVT

/// The file of the charge journal: one entry per line. Each entry is on the disk when `write`
/// returns. The caller must hold the `JournalLock`.
///
/// Opening removes a line that a power cut has truncated: the device executed no later action.
final class JournalFile {
  /// Maximum size in bytes. A larger file is an error.
  private static let maximumSize = 64 << 20
  /// Size in bytes above which opening shortens the file.
  private static let longSize = 4 << 20

  let path: String
  /// The journal at the time of the opening.
  let journal: ChargeJournal
  /// The time of the first entry that has one, or of the opening if none has.
  let begun: Timestamp
  /// Whether opening has created the file.
  let isNew: Bool
  private let file: DurableFile
  private var size: Int

  /// Whether the caller should open the file again, which shortens it.
  var isLong: Bool { size > 2 * Self.longSize }

  /// Opens and reads the file, and checks that it can be written.
  ///
  /// - Throws: `Failure` with exit code 65 if a line is damaged or the file is too large, 74 if the
  ///   disk is full, read-only or broken, or 78 if the file cannot be opened for another reason.
  init(path: String) throws(Failure) {
    self.path = path
    var (journal, begun, size) = try Self.read(path)
    if size > Self.longSize { size = try Self.shorten(path, journal) }
    file = try DurableFile(path, appends: true)
    isNew = file.isNew
    self.journal = journal
    self.begun = begun ?? .now
    self.size = size
    if isNew {
      try write(.summary(last: 0, ChargeJournal.Day(), nil))
    } else {
      // Writes an empty line, to find out whether the disk accepts writes.
      try file.write("\n")
    }
  }

  /// Reads a journal and the time of its first entry, without changing or locking the file.
  ///
  /// - Returns: `nil` if the file does not exist.
  static func view(
    _ path: String
  ) throws(Failure) -> (journal: ChargeJournal, begun: Timestamp)? {
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    let (journal, begun, _) = try read(path, cutting: false)
    return (journal, begun ?? .now)
  }

  func write(_ entry: ChargeJournal.Entry) throws(Failure) {
    let line = String(decoding: entry.line(at: .now), as: UTF8.self)
    try file.write(line + "\n")
    size += line.utf8.count + 1
  }

  private static func read(
    _ path: String, cutting: Bool = true
  ) throws(Failure) -> (journal: ChargeJournal, begun: Timestamp?, size: Int) {
    var journal = ChargeJournal()
    guard FileManager.default.fileExists(atPath: path) else { return (journal, nil, 0) }
    let bytes: [UInt8]
    do {
      let handle = try FileHandle(forReadingFrom: URL(filePath: path))
      bytes = Array(try handle.read(upToCount: maximumSize + 1) ?? Data())
    } catch {
      throw .badConfiguration("\(path) cannot be read: \(error.localizedDescription)")
    }
    guard bytes.count <= maximumSize else {
      throw .badData("\(path) is larger than \(maximumSize >> 20) MiB")
    }
    let newline = UInt8(ascii: "\n")
    // The bytes after the last newline are a line that a power cut has truncated.
    var whole = bytes[..<((bytes.lastIndex(of: newline) ?? -1) + 1)]
    var begun: Timestamp?
    let lines = whole.split(separator: newline, omittingEmptySubsequences: false).dropLast()
    for (index, line) in lines.enumerated() where !line.isEmpty {
      guard let entry = ChargeJournal.Entry(line: Array(line)) else {
        // A file system may store zeros in the place of the lost line.
        if index == lines.count - 1, line.contains(0) {
          whole = whole.dropLast(line.count + 1)
          break
        }
        throw .badData(
          "line \(index + 1) of \(path) cannot be read: restore the file, or move it away and see "
            + "'lost journal' in payment.md")
      }
      journal.apply(entry)
      if begun == nil { begun = Timestamp.ofLine(line) }
    }
    if cutting, whole.count < bytes.count { try cut(path, to: whole.count) }
    return (journal, begun, whole.count)
  }

  private static func cut(_ path: String, to size: Int) throws(Failure) {
    guard truncate(path, off_t(size)) == 0 else {
      throw Failure(
        status: ExitCode(74), message: "\(path): \(String(cString: strerror(errno)))")
    }
  }

  /// Replaces the file with a file of only the necessary entries.
  ///
  /// - Returns: The new size in bytes.
  private static func shorten(_ path: String, _ journal: ChargeJournal) throws(Failure) -> Int {
    let url = URL(filePath: path)
    let text = Data(journal.shortened.map { $0.line(at: .now) + [UInt8(ascii: "\n")] }.joined())
    do throws(StateError) {
      try StateFolder(path: url.deletingLastPathComponent().path)
        .write(url.lastPathComponent, text)
      return text.count
    } catch {
      throw Failure(status: ExitCode(74), message: "\(error)")
    }
  }
}

/// The lock that prevents a second program from using a journal.
final class JournalLock: Sendable {
  private let path: String
  private let file: DurableFile

  init(ofJournal path: String) throws(Failure) {
    self.path = path
    file = try DurableFile(path + ".lock", appends: false)
  }

  func take() throws(Failure) {
    guard file.lock() else { throw .tryAgain("\(path) is in use: another juice-zvt runs") }
  }
}

extension Timestamp {
  fileprivate static func ofLine(_ line: ArraySlice<UInt8>) -> Timestamp? {
    (try? JSON.parse(Array(line)))?.text("at").flatMap { Timestamp($0) }
  }
}
