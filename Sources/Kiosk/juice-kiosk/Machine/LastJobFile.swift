import CommandLineSupport

/// The number of a machine's last job, in a file that outlives a power cut.
struct LastJobFile {
  private let file: DurableFile
  let last: Int

  /// Any number fits into so many digits. All are written, so that each write covers the one before.
  private static let digits = 20

  /// - Throws: `Failure` if another machine has the file, or it holds something else.
  init(path: String) throws(Failure) {
    file = try DurableFile(path, appends: false)
    guard file.lock() else {
      throw .tryAgain("\(path) is in use: a machine of this name runs already")
    }
    let text = String(decoding: try file.read(upTo: 100), as: UTF8.self)
    guard let last = text.isEmpty ? 0 : Int(text.prefix { $0 != "\n" }) else {
      throw .badData(
        "\(path) holds no number: write that of the machine's last job into it, or the kiosk's last "
          + "entry (juice-kiosk ledger export)")
    }
    self.last = last
  }

  func store(_ job: Int) throws(Failure) {
    let digits = "\(job)"
    let zeros = String(repeating: "0", count: Self.digits - digits.utf8.count)
    try file.write("\(zeros)\(digits)\n")
  }
}
