import Foundation
import GRDB
import JuiceMaker
import KioskMessages
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
        .inUse(path: "/l", process: 7),
        "the ledger /l is in use by process 7: one kiosk at a time. Stop the other one first"
      ),
      (
        .inUse(path: "/l", process: nil),
        "the ledger /l is in use: one kiosk at a time. Stop the other one first"
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
        .doesNotAddUp(path: "/l", detail: "x"),
        "the ledger /l contradicts itself: x. Somebody has changed the file: put a backup in its "
          + "place with juice-kiosk ledger restore --replace, which keeps this file"
      ),
      (
        .badBackup(path: "/b", detail: "x"),
        "the backup /b cannot be used: x. Nothing has been changed; take another one"
      ),
      (
        .notReplaced(path: "/l", "it is newer"),
        "the ledger /l is not replaced: it is newer. With --replace it is, and kept under another name"
      ),
      (.diskFull(path: "/l"), "the disk of the ledger /l is full: make room"),
      (
        .disk(path: "/l", detail: "x"),
        "the ledger /l cannot be read or written: x. Check the disk"
      ),
      (.unknownFruit("kiwi"), "the ledger does not hold kiwi"),
      (.unreadable(7), "entry 7 of the ledger cannot be read: run juice-kiosk ledger verify"),
    ] as [(LedgerError, String)])
  func eachErrorSaysWhatToDo(error: LedgerError, text: String) {
    #expect("\(error)" == text)
  }
}
