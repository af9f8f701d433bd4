import Foundation
import Synchronization

/// A file of records, one line each, to which a program appends.
///
/// ```swift
/// let file = RecordFile<Entry>(
///   path, upTo: 64 << 20, whenDamaged: "restore it", encode: \.line, decode: Entry.init(line:))
/// let entries = try file.read().records
/// try file.append([entry])
/// ```
///
/// An append writes only its lines, with one system call, so that killing the process leaves all of
/// them or none. A line that a power cut has truncated does not count, and the next append removes it.
package final class RecordFile<Record>: Sendable {
  package let path: String
  private let limit: Int
  private let mode: UInt32
  private let makesFolder: Bool
  private let advice: String
  private let encode: @Sendable (Record) -> [UInt8]
  private let decode: @Sendable ([UInt8]) -> Record?
  private let file = Mutex<OpenFile?>(nil)

  private struct OpenFile: ~Copyable {
    let descriptor: Int32
    var size: Int
    deinit { close(descriptor) }
  }

  package struct Contents {
    package fileprivate(set) var records: [Record] = []
    /// The first damaged line, or `nil` if there is none.
    package fileprivate(set) var problem: StateError?
    /// Whether there is no such file.
    package fileprivate(set) var isMissing = false
    /// The size without a truncated line, in bytes.
    package fileprivate(set) var size = 0
  }

  /// Describes a file, which need not exist.
  ///
  /// - Parameters:
  ///   - limit: Maximum size in bytes; a larger file cannot be read.
  ///   - makesFolder: Whether an append creates a missing folder.
  ///   - advice: What a person can do if a line is damaged.
  ///   - encode: Returns the line, without a newline.
  package init(
    _ path: String, upTo limit: Int, mode: UInt32 = 0o640, makesFolder: Bool = false,
    whenDamaged advice: String, encode: @escaping @Sendable (Record) -> [UInt8],
    decode: @escaping @Sendable ([UInt8]) -> Record?
  ) {
    (self.path, self.limit, self.mode, self.makesFolder) = (path, limit, mode, makesFolder)
    (self.advice, self.encode, self.decode) = (advice, encode, decode)
  }

  /// Reads the records.
  ///
  /// - Parameter skipsDamage: Whether a damaged line is omitted and reported in `problem`.
  /// - Throws: `StateError` if the file cannot be read, or if a line is damaged and `skipsDamage` is
  ///   false.
  package func read(skipsDamage: Bool = false) throws(StateError) -> Contents {
    guard let bytes = try Disk.read(path, upTo: limit) else { return Contents(isMissing: true) }
    let whole = Self.whole(bytes)
    var contents = Contents(size: whole.count)
    let lines = whole.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() where !line.isEmpty {
      if let record = decode(Array(line)) {
        contents.records.append(record)
        continue
      }
      let problem = StateError("line \(index + 1) of \(path)", "cannot be read; \(advice)")
      guard skipsDamage else { throw problem }
      if contents.problem == nil { contents.problem = problem }
    }
    return contents
  }

  /// Appends records.
  ///
  /// - Parameter isSynced: Whether the records, and all before them, are on the disk when the call
  ///   returns.
  package func append(_ records: [Record], isSynced: Bool = true) throws(StateError) {
    try append(lines: Array(records.map { encode($0) + [UInt8(ascii: "\n")] }.joined()), isSynced)
  }

  /// Appends an empty line, to find out whether the disk accepts writes.
  package func probe() throws(StateError) { try append(lines: [UInt8(ascii: "\n")], true) }

  /// Replaces all records.
  package func replace(with records: [Record]) throws(StateError) {
    let lines = Array(records.map { encode($0) + [UInt8(ascii: "\n")] }.joined())
    file.withLock { $0 = nil }
    try Disk.replace(path, with: lines, mode: mode, makesFolder: makesFolder)
  }

  /// The size after the last append, in bytes; 0 before the first one.
  package var size: Int { file.withLock { $0?.size ?? 0 } }

  private func append(lines: [UInt8], _ isSynced: Bool) throws(StateError) {
    try file.withLock { (file) throws(StateError) in
      var open: OpenFile
      if let current = file.take() { open = current } else { open = try openFile() }
      let count = lines.isEmpty ? 0 : write(open.descriptor, lines, lines.count)
      // The disk accepted a part only, without an error code. The file stays closed, so that the next
      // append removes the truncated line.
      if count >= 0, count < lines.count { errno = ENOSPC }
      guard count == lines.count, !isSynced || fsync(open.descriptor) == 0 else {
        throw StateError(errnoAt: path)
      }
      open.size += count
      file = consume open
    }
  }

  private func openFile() throws(StateError) -> OpenFile {
    if makesFolder { try Disk.make(Disk.folder(of: path)) }
    let bytes = try Disk.read(path, upTo: limit)
    let flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC
    let descriptor = open(path, bytes == nil ? flags | O_CREAT | O_EXCL : flags, mode_t(mode))
    guard descriptor >= 0 else { throw StateError(errnoAt: path) }
    let size = Self.whole(bytes ?? []).count
    let file = OpenFile(descriptor: descriptor, size: size)
    if let bytes, size < bytes.count, ftruncate(descriptor, off_t(size)) != 0 {
      throw StateError(errnoAt: path)
    }
    // The file's name survives a power cut only after its folder is synced.
    try Disk.sync(Disk.folder(of: path))
    return file
  }

  /// Returns the bytes without a line that a power cut has truncated: one without a newline, or a last
  /// one with zeros, which a file system may store in the place of the lost bytes.
  private static func whole(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
    let newline = UInt8(ascii: "\n")
    let lines = bytes[..<((bytes.lastIndex(of: newline) ?? -1) + 1)]
    let last = lines.dropLast().lastIndex(of: newline).map { $0 + 1 } ?? 0
    return lines[last...].contains(0) ? lines[..<last] : lines
  }
}
