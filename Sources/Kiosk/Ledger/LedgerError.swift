import GRDB

/// Why the ledger cannot be used, with what to do about it.
package enum LedgerError: Error, Hashable {
  /// The file or its folder is not there, not ours, or not a ledger.
  case cannotOpen(path: String, detail: String)
  /// Another process holds it.
  case inUse(path: String, process: Int?)
  /// A later version of the kiosk has changed it.
  case newer(path: String)
  /// What is to take the place of a ledger cannot.
  case badBackup(path: String, detail: String)
  /// A ledger that is there holds what would be lost with it.
  case notReplaced(path: String, String)
  /// SQLite finds its own structures broken.
  case damaged(path: String, detail: String)
  /// The entries and the stock contradict each other.
  case inconsistent(path: String, detail: String)
  /// There is no room left on the disk.
  case diskFull(path: String)
  /// The disk does not take or give what it should.
  case disk(path: String, detail: String)
  /// The schema does not allow what a transaction writes, or it is larger than SQLite takes.
  case notAllowed(String)
  /// An entry moves a fruit that the ledger does not hold.
  case unknownFruit(String)
  /// An entry whose columns contradict each other.
  case unreadable(Int)

  /// Gives SQLite's errors our words.
  static func catching<Value>(
    _ path: String, _ body: () throws -> Value
  ) throws(LedgerError) -> Value {
    do {
      return try body()
    } catch let error as LedgerError {
      throw error
    } catch let error as DatabaseError {
      let detail = error.message ?? error.resultCode.description
      switch error.resultCode {
      // A trigger is none of ours: tests break the disk with one.
      case .SQLITE_CONSTRAINT where error.extendedResultCode == .SQLITE_CONSTRAINT_TRIGGER:
        throw .disk(path: path, detail: detail)
      case .SQLITE_CORRUPT, .SQLITE_NOTADB: throw .damaged(path: path, detail: detail)
      case .SQLITE_FULL: throw .diskFull(path: path)
      case .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_AUTH:
        throw .cannotOpen(path: path, detail: detail)
      case .SQLITE_CONSTRAINT, .SQLITE_TOOBIG, .SQLITE_MISMATCH, .SQLITE_RANGE:
        throw .notAllowed(detail)
      default: throw .disk(path: path, detail: detail)
      }
    } catch {
      throw .disk(path: path, detail: "\(error)")
    }
  }
}

extension LedgerError {
  /// What helps.
  package enum Remedy: Sendable {
    /// It may work later, or as soon as somebody makes room: nothing else is wrong.
    case tryAgain
    /// No trying helps: somebody has to look at the file.
    case needsOperator
    /// What was to be written cannot be, everything else can: take the deliveries one by one, and
    /// leave out the bad one.
    case rejectCommand
  }

  package var remedy: Remedy {
    switch self {
    case .diskFull, .disk, .inUse, .cannotOpen: .tryAgain
    case .notAllowed, .unknownFruit: .rejectCommand
    default: .needsOperator
    }
  }
}

extension LedgerError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .cannotOpen(let path, let detail):
      "the ledger \(path) cannot be opened: \(detail). Check that its folder exists and that the "
        + "kiosk's user may write there"
    case .inUse(let path, let process):
      "the ledger \(path) is in use\(process.map { " by process \($0)" } ?? ""): one kiosk at a time. "
        + "Stop the other one first"
    case .newer(let path):
      "the ledger \(path) was written by a newer version of juice-kiosk: install that version again"
    case .badBackup(let path, let detail):
      "the backup \(path) cannot be used: \(detail). Nothing has been changed; take another one"
    case .notReplaced(let path, let detail):
      "the ledger \(path) is not replaced: \(detail). With --replace it is, and kept under another "
        + "name"
    case .damaged(let path, let detail):
      "the ledger \(path) is damaged (\(detail)): put a backup in its place with juice-kiosk ledger "
        + "restore --replace, which keeps this file"
    case .inconsistent(let path, let detail):
      "the ledger \(path) contradicts itself: \(detail). Somebody has changed the file: put a "
        + "backup in its place with juice-kiosk ledger restore --replace, which keeps this file"
    case .diskFull(let path):
      "the disk of the ledger \(path) is full: make room"
    case .disk(let path, let detail):
      "the ledger \(path) cannot be read or written: \(detail). Check the disk"
    case .notAllowed(let detail):
      "the ledger cannot hold this: \(detail)"
    case .unknownFruit(let fruit):
      "the ledger does not hold \(fruit)"
    case .unreadable(let seq):
      "entry \(seq) of the ledger cannot be read: run juice-kiosk ledger verify"
    }
  }
}
