import CommandLineSupport
import KioskProtocol

/// The journal of a simulated payment device: one line of JSON for each change.
struct PaymentJournal {
  let records: [PaymentFirmware.Record]
  private let file: RecordFile<PaymentFirmware.Record>
  private let lock: FileLock

  /// Locks and reads the file.
  ///
  /// - Throws: `Failure` if another device has locked the file, or the file or a line cannot be read.
  init(path: String) throws(Failure) {
    lock = try Failure.from { () throws(StateError) in try FileLock(of: path) }
    try lock.take(orFail: "\(path) is in use: a payment device of this name runs already")
    // The limit is enough for more than 100,000 charges.
    let file = RecordFile<PaymentFirmware.Record>(
      path, upTo: 50_000_000, whenDamaged: "end the day, and move the file away",
      encode: \.payload, decode: { try? PaymentFirmware.Record(payload: $0) })
    records = try Failure.from { () throws(StateError) in
      try file.append([])
      return try file.read().records
    }
    self.file = file
  }

  func store(_ record: PaymentFirmware.Record) throws(Failure) {
    try Failure.from { () throws(StateError) in try file.append([record]) }
  }
}
