import Foundation
import GRDB

/// An error of the ledger, with advice for the kiosk's owner.
package enum LedgerError: Error, Hashable {
  /// The file or its folder is missing, not accessible, no ledger or a symbolic link, or exists but must not.
  case cannotOpen(path: String, detail: String)
  /// The folder is on a file system that is mounted read-only, perhaps only for this service of
  /// systemd (`ProtectSystem=strict`).
  case readOnly(path: String)
  /// Another process holds the ledger.
  case inUse(path: String, process: Int?)
  /// The file was removed or replaced while the kiosk used it. `rescued` is the path of a copy of
  /// the kiosk's entries, or `nil` with the reason why there is none.
  case removed(path: String, rescued: String?, detail: String)
  /// A missing ledger, with a copy that an earlier process saved when the ledger was removed.
  case notRestored(path: String, rescued: String)
  /// A newer version of the kiosk has written the ledger.
  case newer(path: String)
  /// The backup cannot be restored.
  case badBackup(path: String, detail: String)
  /// A restore would lose entries of the existing ledger, or cannot compare this ledger with the backup.
  case notReplaced(path: String, String)
  /// SQLite reports damaged structures.
  case damaged(path: String, detail: String)
  /// The rows contradict each other, for example the entries and the stock.
  case inconsistent(path: String, detail: String)
  /// The disk is full.
  case diskFull(path: String)
  /// Another program has locked the file for longer than the kiosk waits.
  case locked(path: String)
  /// The file cannot be read or written for another reason.
  case disk(path: String, detail: String)
  /// The schema or an earlier answer forbids the transaction, or a value is too large for SQLite.
  case notAllowed(String)
  /// An entry changes the stock of a fruit that the ledger does not have.
  case unknownFruit(String)
  /// The columns of a row are invalid. The value is the `seq` of the entry, or the number of a charge without an order.
  case unreadable(Int)
  /// A record of the table `state` is invalid.
  case unreadableState(kind: String, key: String)

  /// Runs `body`, and converts its errors to `LedgerError`.
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
      // The schema has no triggers. Tests use one to simulate a broken disk.
      case .SQLITE_CONSTRAINT where error.extendedResultCode == .SQLITE_CONSTRAINT_TRIGGER:
        throw .disk(path: path, detail: detail)
      case .SQLITE_CORRUPT, .SQLITE_NOTADB: throw .damaged(path: path, detail: detail)
      case .SQLITE_FULL: throw .diskFull(path: path)
      case .SQLITE_BUSY, .SQLITE_LOCKED: throw .locked(path: path)
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
  /// Returns the error for a file that cannot be opened, from its `errno`.
  static func cannotOpen(_ path: String, errno code: Int32) -> LedgerError {
    code == EROFS
      ? .readOnly(path: path) : .cannotOpen(path: path, detail: String(cString: strerror(code)))
  }

  /// The action that resolves an error.
  package enum Remedy: Sendable {
    /// A retry. The operation may succeed later, for example when the disk has free space.
    case tryAgain
    /// An operator's examination of the file. Retrying does not help.
    case needsOperator
    /// Rejecting the command: this transaction cannot be stored, but others can. The caller commits
    /// the deliveries one at a time, and rejects those that fail.
    case rejectCommand
  }

  package var remedy: Remedy {
    switch self {
    case .diskFull, .disk, .locked, .inUse, .cannotOpen, .readOnly, .removed(_, nil, _): .tryAgain
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
    case .readOnly(let path):
      "the ledger \(path) cannot be opened: Read-only file system. A service of systemd may write only "
        + "below /var/lib: allow another folder in its unit, ReadWritePaths=\(Self.folder(of: path)), as "
        + "operations.md shows under Disk space. Otherwise mount the disk for writing"
    case .inUse(let path, let process):
      "the ledger \(path) is in use\(process.map { " by process \($0)" } ?? ""): one kiosk at a time. "
        + "Stop the other one first"
    case .removed(let path, let rescued?, _):
      "the ledger \(path) was removed or replaced while the kiosk runs, so the kiosk takes no orders. "
        + "All its entries are in \(rescued): stop the kiosk, run juice-kiosk ledger restore \(rescued), "
        + "and start the kiosk"
    case .removed(let path, nil, let detail):
      "the ledger \(path) was removed or replaced while the kiosk runs, so the kiosk takes no orders. "
        + "Its entries could not be saved (\(detail)): put the folder back, the kiosk tries again"
    case .notRestored(let path, let rescued):
      "the ledger \(path) was removed while a kiosk ran, which saved its entries: run juice-kiosk "
        + "ledger restore \(rescued); to begin anew, rename that file"
    case .newer(let path):
      "the ledger \(path) was written by a newer version of juice-kiosk: install that version again"
    case .badBackup(let path, let detail):
      "the backup \(path) cannot be used: \(detail). Nothing has been changed; use another one"
    case .notReplaced(let path, let detail):
      "the ledger \(path) is not replaced: \(detail). Use --replace to replace it "
        + "and keep it under another name"
    case .damaged(let path, let detail):
      "the ledger \(path) is damaged (\(detail)): put a backup in its place with juice-kiosk ledger "
        + "restore --replace, which keeps this file"
    case .inconsistent(let path, let detail):
      "the ledger \(path) is inconsistent: \(detail). Another program changed the file: put a "
        + "backup in its place with juice-kiosk ledger restore --replace, which keeps this file"
    case .diskFull(let path):
      "the disk of the ledger \(path) is full: free some space"
    case .locked(let path):
      "the ledger \(path) is locked by another program, such as a viewer of SQLite files: close it, and view a "
        + "copy that juice-kiosk ledger backup makes"
    case .disk(let path, let detail):
      "the ledger \(path) cannot be read or written: \(detail). Check the disk"
    case .notAllowed(let detail):
      "the ledger cannot store this: \(detail)"
    case .unknownFruit(let fruit):
      "the ledger does not contain \(fruit)"
    case .unreadable(let seq):
      "entry \(seq) of the ledger cannot be read: run juice-kiosk ledger verify"
    case .unreadableState(let kind, let key):
      "the ledger's record of the \(kind) \(key) cannot be read: another program changed the file. Put a "
        + "backup in its place with juice-kiosk ledger restore --replace, which keeps this file"
    }
  }

  private static func folder(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
  }
}
