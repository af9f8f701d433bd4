import CommandLineSupport
import KioskProtocol

/// The journal of a simulated payment device: one line of JSON for each change.
struct PaymentJournal {
  private let file: DurableFile
  let records: [PaymentFirmware.Record]

  /// Maximum size of a journal in bytes, enough for more than 100,000 charges.
  private static let maximumSize = 50_000_000

  /// Opens, locks and reads the file.
  ///
  /// - Throws: `Failure` if another device has locked the file, or the file or a line cannot be read.
  init(path: String) throws(Failure) {
    file = try DurableFile(path, appends: true)
    guard file.lock() else {
      throw .tryAgain("\(path) is in use: a payment device of this name runs already")
    }
    let bytes = try file.read(upTo: Self.maximumSize)
    guard bytes.count < Self.maximumSize else {
      throw .badData("\(path) is too large: end the day, and move the file away")
    }
    var records: [PaymentFirmware.Record] = []
    for (number, line) in bytes.split(separator: UInt8(ascii: "\n")).enumerated() {
      guard let record = try? PaymentFirmware.Record(payload: Array(line)) else {
        throw .badData("\(path):\(number + 1): this is no line of a journal")
      }
      records.append(record)
    }
    self.records = records
  }

  func store(_ record: PaymentFirmware.Record) throws(Failure) {
    try file.write(String(decoding: record.payload, as: UTF8.self) + "\n")
  }
}
