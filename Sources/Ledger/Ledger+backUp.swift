import Foundation
import GRDB

extension Ledger {
  /// Copies the ledger as it is now into a new file, while the kiosk may go on writing.
  ///
  /// The copy appears under its name only when it is whole.
  ///
  /// - Throws: `LedgerError.cannotOpen` if there is a file already, and if it cannot be written.
  package func backUp(to path: String) throws(LedgerError) {
    guard !FileManager.default.fileExists(atPath: path) else {
      throw .cannotOpen(path: path, detail: "there is a file already; choose another name")
    }
    let partial = path + ".partial"
    try LedgerError.catching(path) {
      try? FileManager.default.removeItem(atPath: partial)
      let copy = try DatabaseQueue(path: partial)
      try database.backup(to: copy)
      try copy.close()
      do {
        try FileManager.default.moveItem(atPath: partial, toPath: path)
      } catch {
        throw LedgerError.cannotOpen(path: path, detail: error.localizedDescription)
      }
    }
  }
}
