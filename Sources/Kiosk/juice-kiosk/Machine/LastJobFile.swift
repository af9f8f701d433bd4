import CommandLineSupport

/// The number of a machine's last job, in a file that survives a power cut.
struct LastJobFile {
  let last: Int
  /// The reason why `last` comes from the copy of the file, or `nil`.
  let problem: StateError?
  private let file: StateFile<Int>
  private let lock: FileLock

  /// Locks and reads the file.
  ///
  /// - Throws: `Failure` if another machine has locked the file, or neither it nor its copy contains a
  ///   number.
  init(path: String) throws(Failure) {
    file = StateFile(
      path, upTo: 100, mode: 0o640,
      withoutCopy:
        "write the number of the machine's last job into it, or of the kiosk's last entry "
        + "(juice-kiosk ledger export)",
      encode: { Array("\($0)\n".utf8) },
      decode: { bytes in
        let line = String(decoding: bytes, as: UTF8.self).prefix { $0 != "\n" }
        guard let last = Int(line), last >= 0 else { throw LineError(1, "contains no number") }
        return last
      })
    lock = try Failure.from { () throws(StateError) in try FileLock(of: path) }
    try lock.take(orFail: "\(path) is in use: a machine of this name runs already")
    let (stored, problem) = file.load()
    // Not 0 after a damage: the machine could begin a job a second time.
    if stored == nil, let problem { throw problem.failure }
    (last, self.problem) = (stored ?? 0, problem)
    if stored == nil { try store(0) }
  }

  func store(_ job: Int) throws(Failure) {
    try Failure.from { () throws(StateError) in try file.write(job) }
  }
}
