import CommandLineSupport

/// The number of a machine's last job, in a file that survives a power cut.
struct LastJobFile {
  private let file: DurableFile
  let last: Int

  /// Number of digits written, enough for any `Int`. With a fixed width, each number overwrites the
  /// previous one completely.
  private static let digits = 20

  /// Opens, locks and reads the file.
  ///
  /// - Throws: `Failure` if another machine has locked the file, or its content is not a number.
  init(path: String) throws(Failure) {
    file = try DurableFile(path, appends: false)
    guard file.lock() else {
      throw .tryAgain("\(path) is in use: a machine of this name runs already")
    }
    if file.isNew {
      last = 0
      try store(0)
      return
    }
    // An empty file is an error, too: with 0 the machine could begin a job a second time.
    let line = String(decoding: try file.read(upTo: 100), as: UTF8.self).prefix { $0 != "\n" }
    guard let last = Int(line), last >= 0 else {
      throw .badData(
        "\(path) contains no number: write the number of the machine's last job into it, or of the "
          + "kiosk's last entry (juice-kiosk ledger export)")
    }
    self.last = last
  }

  func store(_ job: Int) throws(Failure) {
    let digits = "\(job)"
    let zeros = String(repeating: "0", count: Self.digits - digits.utf8.count)
    try file.write("\(zeros)\(digits)\n")
  }
}
