import Foundation
import GRDB
import JuiceDomain
import KioskProtocol
import Testing

@testable import Ledger

@Suite struct LedgerErrorTests {
  @Test(
    arguments: [
      (
        .cannotOpen(path: "/l", detail: "x"),
        "the ledger /l cannot be opened: x. Check that its folder exists and that the kiosk's user "
          + "may write there"
      ),
      (
        .readOnly(path: "/mnt/l"),
        "the ledger /mnt/l cannot be opened: Read-only file system. A service of systemd may write "
          + "only below /var/lib: allow another folder in its unit, ReadWritePaths=/mnt, as "
          + "operations.md shows under Disk space. Otherwise mount the disk for writing"
      ),
      (
        .inUse(path: "/l", process: 7),
        "the ledger /l is in use by process 7: one kiosk at a time. Stop the other one first"
      ),
      (
        .inUse(path: "/l", process: nil),
        "the ledger /l is in use: one kiosk at a time. Stop the other one first"
      ),
      (
        .removed(path: "/l", rescued: "/l.rescued-1", detail: ""),
        "the ledger /l was removed or replaced while the kiosk runs, so the kiosk takes no orders. "
          + "All its entries are in /l.rescued-1: stop the kiosk, run juice-kiosk ledger restore "
          + "/l.rescued-1, and start the kiosk"
      ),
      (
        .removed(path: "/l", rescued: nil, detail: "x"),
        "the ledger /l was removed or replaced while the kiosk runs, so the kiosk takes no orders. "
          + "Its entries could not be saved (x): put the folder back, the kiosk tries again"
      ),
      (
        .notRestored(path: "/l", rescued: "/l.rescued-1"),
        "the ledger /l was removed while a kiosk ran, which saved its entries: run juice-kiosk ledger "
          + "restore /l.rescued-1; to begin anew, rename that file"
      ),
      (
        .newer(path: "/l"),
        "the ledger /l was written by a newer version of juice-kiosk: install that version again"
      ),
      (
        .damaged(path: "/l", detail: "x"),
        "the ledger /l is damaged (x): put a backup in its place with juice-kiosk ledger restore "
          + "--replace, which keeps this file"
      ),
      (
        .inconsistent(path: "/l", detail: "x"),
        "the ledger /l is inconsistent: x. Another program changed the file: put a backup in its "
          + "place with juice-kiosk ledger restore --replace, which keeps this file"
      ),
      (
        .badBackup(path: "/b", detail: "x"),
        "the backup /b cannot be used: x. Nothing has been changed; use another one"
      ),
      (
        .notReplaced(path: "/l", "it is newer"),
        "the ledger /l is not replaced: it is newer. Use --replace to replace it and "
          + "keep it under another name"
      ),
      (.diskFull(path: "/l"), "the disk of the ledger /l is full: free some space"),
      (
        .disk(path: "/l", detail: "x"),
        "the ledger /l cannot be read or written: x. Check the disk"
      ),
      (
        .locked(path: "/l"),
        "the ledger /l is locked by another program, such as a viewer of SQLite files: close it, and view a "
          + "copy that juice-kiosk ledger backup makes"
      ),
      (.notAllowed("x"), "the ledger cannot store this: x"),
      (.unknownFruit("kiwi"), "the ledger does not contain kiwi"),
      (.unreadable(7), "entry 7 of the ledger cannot be read: run juice-kiosk ledger verify"),
      (
        .unreadableState(kind: "alert", key: "kiwi"),
        "the ledger's record of the alert kiwi cannot be read: another program changed the file. Put a "
          + "backup in its place with juice-kiosk ledger restore --replace, which keeps this file"
      ),
    ] as [(LedgerError, String)])
  func eachErrorSaysWhatToDo(error: LedgerError, text: String) {
    #expect("\(error)" == text)
  }

  @Test(
    arguments: [
      (.SQLITE_FULL, .tryAgain), (.SQLITE_IOERR, .tryAgain), (.SQLITE_IOERR_FSYNC, .tryAgain),
      (.SQLITE_BUSY, .tryAgain), (.SQLITE_CANTOPEN, .tryAgain), (.SQLITE_READONLY, .tryAgain),
      (.SQLITE_CORRUPT, .needsOperator), (.SQLITE_NOTADB, .needsOperator),
      (.SQLITE_CONSTRAINT, .rejectCommand), (.SQLITE_CONSTRAINT_CHECK, .rejectCommand),
      (.SQLITE_TOOBIG, .rejectCommand),
    ] as [(ResultCode, LedgerError.Remedy)])
  func whatHelpsDependsOnTheError(code: ResultCode, remedy: LedgerError.Remedy) {
    let error = #expect(throws: LedgerError.self) {
      try LedgerError.catching("/l") { throw DatabaseError(resultCode: code) }
    }
    #expect(error?.remedy == remedy)
    #expect((error == .locked(path: "/l")) == (code == .SQLITE_BUSY))
  }

  @Test func aLedgerThatContradictsItselfIsForSomebodyToSee() {
    let errors: [LedgerError] = [
      .newer(path: "/l"), .inconsistent(path: "/l", detail: ""), .unreadable(7),
      .unreadableState(kind: "alert", key: "kiwi"),
    ]
    #expect(errors.allSatisfy { $0.remedy == .needsOperator })
    #expect(LedgerError.unknownFruit("kiwi").remedy == .rejectCommand)
  }
}
