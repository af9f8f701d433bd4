import Foundation
import GRDB
import JuiceDomain
import KioskCore
import KioskProtocol
import Testing

@testable import Ledger

@Suite struct LedgerRestoreTests {
  private let place: TemporaryLedger
  private let backup: String

  /// Creates a ledger of two entries, and a backup of it.
  init() throws {
    place = try TemporaryLedger()
    backup = place.folder.appending(path: "backup.sqlite").path
    try place.write(LedgerTransaction(.opened(1, ["banana": 10]), .banana(2, ticket: 1)))
    try place.open(readOnly: true).backUp(to: backup)
  }

  private var files: [String] {
    get throws {
      try FileManager.default.contentsOfDirectory(atPath: place.folder.path)
        // Files that a reader of the ledger leaves beside it.
        .filter { !["ledger.sqlite-shm", "ledger.sqlite-wal"].contains($0) }.sorted()
    }
  }

  private func remove(_ names: String...) throws {
    for name in names { try FileManager.default.removeItem(at: place.folder.appending(path: name)) }
  }

  private func restore(
    from backup: String, replacing: Bool = false
  ) throws -> KioskLedger.Restoration {
    try KioskLedger.restore(
      from: try BackupFile(path: backup), to: place.path, replacing: replacing)
  }

  @Test func aBackupIsOneFile() throws {
    #expect(try files == ["backup.sqlite", "ledger.sqlite", "ledger.sqlite.lock"])
    #expect(try KioskLedger(path: backup, readOnly: true).verify() == 2)
    #expect(try files == ["backup.sqlite", "ledger.sqlite", "ledger.sqlite.lock"])
  }

  @Test func aCopyThatAKilledProcessHasLeftIsRemoved() throws {
    for suffix in ["", ".partial", ".partial-journal"] {
      try Data("a part".utf8).write(to: URL(filePath: "\(place.path).copy\(suffix)"))
    }
    let other = place.folder.appending(path: "other.sqlite")
    try Data().write(to: other)
    let file = try FileHandle(forWritingTo: other)
    try place.open(readOnly: true).backUp(writingTo: file.fileDescriptor)
    try file.close()
    #expect(try KioskLedger(path: other.path, readOnly: true).verify() == 2)
    let all = ["ledger.sqlite", "ledger.sqlite.copy.lock", "ledger.sqlite.lock", "other.sqlite"]
    #expect(try files == ["backup.sqlite"] + all)
  }

  @Test func aBackupOverwritesNothing() throws {
    let error = LedgerError.cannotOpen(
      path: backup, detail: "there is a file already; choose another name")
    #expect(throws: error) { try place.open(readOnly: true).backUp(to: backup) }
    #expect(throws: error) {
      let partial = LedgerFile(path: place.folder.appending(path: "partial").path)
      try Data().write(to: URL(filePath: partial.path))
      try partial.publish(as: LedgerFile(path: backup))
    }
  }

  @Test func whereThereIsNoLedgerTheBackupIsIt() throws {
    let before = try place.open(readOnly: true).state()
    let log = place.path + "-wal"
    do {
      let ledger = try place.open()
      try ledger.commit(LedgerTransaction(.banana(3, ticket: 2)))
      try FileManager.default.copyItem(atPath: log, toPath: log + ".saved")
    }
    for name in try files where name != "backup.sqlite" && !name.hasSuffix(".saved") {
      try remove(name)
    }
    // The log of the deleted ledger, which SQLite would apply to the new one.
    try? FileManager.default.removeItem(atPath: log)
    try FileManager.default.moveItem(atPath: log + ".saved", toPath: log)
    let restored = try restore(from: backup)
    #expect(
      restored
        == .init(
          entries: 2, last: Timestamp(milliseconds: 0), kept: nil, wasThere: false))
    #expect(try files == ["backup.sqlite", "ledger.sqlite", "ledger.sqlite.lock"])
    var after = try place.open().state()
    #expect(after.epoch != before.epoch)
    after.epoch = before.epoch
    #expect(after == before)
    #expect(try place.open().verify() == 2)
  }

  /// An archive receives two different entries #3, and distinguishes them by their epochs. Entries
  /// of the backup keep their epoch; otherwise the archive would count them twice.
  @Test func whatIsRecordedAfterARestoreIsOfAnotherEpoch() throws {
    let first = try place.open().state().epoch
    try place.write(LedgerTransaction(.init(3, .service(.closed), epoch: first)))
    #expect(try place.open().state().epoch == first)
    _ = try restore(from: backup, replacing: true)
    let second = try place.open().state().epoch
    #expect((1..<1 << 53).contains(second) && second != first)
    try place.write(LedgerTransaction(.init(3, .service(.open), epoch: second)))
    #expect(try place.open().rows(after: 0).map(\.row.entry.epoch) == [1, 1, second])
  }

  @Test func aLedgerThatTheBackupGoesOnFromIsReplacedAndKept() throws {
    try place.write(LedgerTransaction(.banana(3, ticket: 2)))
    let later = place.folder.appending(path: "later.sqlite").path
    try place.open(readOnly: true).backUp(to: later)
    _ = try restore(from: backup, replacing: true)
    let restored = try restore(from: later)
    #expect(restored.entries == 3)
    #expect(restored.kept == place.path + ".replaced-2")
    #expect(try place.open().verify() == 3)
  }

  @Test func aLedgerThatNobodyHasUsedIsReplaced() throws {
    try remove("ledger.sqlite")
    try place.write(LedgerTransaction(.opened(1, ["kiwi": 7])))
    #expect(try restore(from: backup).kept == place.path + ".replaced-1")
    #expect(try place.open().state().stock == ["banana": 8])
  }

  @Test func theSameEntriesAreNotRestoredAgain() throws {
    var transaction = LedgerTransaction()
    transaction.confirmed = 2
    try place.write(transaction)
    let restored = try restore(from: backup)
    #expect(restored.wasThere)
    #expect(try place.open().state().confirmed == 2)
  }

  @Test func aNewerLedgerStaysUnlessItIsToBeReplaced() throws {
    try place.write(
      LedgerTransaction(
        .banana(3, ticket: 2), .init(4, .restocked(changes: ["banana": 1]), at: 5000)))
    let words = """
      it is newer: it has 2 entries after the backup, from 1970-01-01T00:00:00Z on, which \
      would be lost
      """
    #expect(throws: LedgerError.notReplaced(path: place.path, words)) {
      try restore(from: backup)
    }
    #expect(try place.open().verify() == 4)
    let restored = try restore(from: backup, replacing: true)
    #expect(restored.entries == 2)
    let kept = try #require(restored.kept)
    #expect(try KioskLedger(path: kept, readOnly: true).verify() == 4)
    #expect(try place.open().verify() == 2)
  }

  @Test func anotherHistoryStaysUnlessItIsToBeReplaced() throws {
    try remove("ledger.sqlite")
    try place.write(
      LedgerTransaction(.opened(1, ["banana": 10]), .init(2, .restocked(changes: ["banana": 5]))))
    let words = "it has another history than the backup: they differ from entry 2 on"
    #expect(throws: LedgerError.notReplaced(path: place.path, words)) {
      try restore(from: backup)
    }
    #expect(try place.open().state().stock == ["banana": 15])
    _ = try restore(from: backup, replacing: true)
    #expect(try place.open().state().stock == ["banana": 8])
  }

  /// A panel that repeats its request must receive the same answer.
  @Test func anotherAnswerIsAnotherHistory() throws {
    try place.write(LedgerTransaction(.init(3, .service(.open), id: "a1", message: "one")))
    let later = place.folder.appending(path: "later.sqlite").path
    try place.open(readOnly: true).backUp(to: later)
    try place.tamper("UPDATE entry SET message = 'two' WHERE seq = 3")
    let words = "it has another history than the backup: they differ from entry 3 on"
    #expect(throws: LedgerError.notReplaced(path: place.path, words)) {
      try restore(from: later)
    }
  }

  /// SQLite's log contains commits that are not in the database yet. It must not be applied to
  /// another file, and the kept ledger must have it.
  @Test func whatLiesInTheLogIsKeptWithItsLedgerOnly() throws {
    // State after a kiosk was killed: its last commits are in the log only.
    let saved = place.folder.appending(path: "saved").path
    do {
      let ledger = try place.open()
      try ledger.commit(LedgerTransaction(.banana(3, ticket: 2)))
      for end in ["", "-wal"] {
        try FileManager.default.copyItem(atPath: place.path + end, toPath: saved + end)
      }
    }
    for end in ["", "-wal"] {
      _ = LedgerFile(path: place.path + end).exists ? try remove("ledger.sqlite" + end) : ()
      try FileManager.default.moveItem(atPath: saved + end, toPath: place.path + end)
    }
    let words = """
      it is newer: it has 1 entries after the backup, from 1970-01-01T00:00:00Z on, which \
      would be lost
      """
    #expect(throws: LedgerError.notReplaced(path: place.path, words)) {
      try restore(from: backup)
    }
    let restored = try restore(from: backup, replacing: true)
    #expect(try place.open().verify() == 2)
    let kept = try #require(restored.kept)
    #expect(try KioskLedger(path: kept, readOnly: true).verify() == 3)
  }

  @Test func aDamagedLedgerIsKeptAsItIs() throws {
    let garbage = Data(repeating: 0x61, count: 10_000)
    try garbage.write(to: URL(filePath: place.path))
    let error = #expect(throws: LedgerError.self) {
      try restore(from: backup)
    }
    #expect("\(try #require(error))".contains("it cannot be compared with the backup"))
    let restored = try restore(from: backup, replacing: true)
    #expect(try place.open().verify() == 2)
    #expect(FileManager.default.contents(atPath: try #require(restored.kept)) == garbage)
  }

  @Test(arguments: [
    ("UPDATE stock SET quantity = 9", "it is inconsistent: the stock of banana is 9, but"),
    ("DELETE FROM entry WHERE seq = 1", "it is inconsistent: 1 entries are missing"),
    ("INSERT INTO grdb_migrations VALUES ('99 more')", "was written by a newer version"),
    ("DROP TABLE grdb_migrations", "it is not a ledger"),
  ])
  func aBackupThatIsNotGoodReplacesNothing(sql: String, words: String) throws {
    let database = try DatabaseQueue(path: backup)
    try database.write { try $0.execute(sql: sql) }
    try database.close()
    let before = FileManager.default.contents(atPath: place.path)
    for replacing in [false, true] {
      let error = #expect(throws: LedgerError.self) {
        try restore(from: backup, replacing: replacing)
      }
      let text = "\(try #require(error))"
      #expect(text.contains(words) && text.contains(backup))
    }
    #expect(FileManager.default.contents(atPath: place.path) == before)
    #expect(try files == ["backup.sqlite", "ledger.sqlite", "ledger.sqlite.lock"])
  }

  @Test func aBackupThatIsNotThereOrNoDatabaseReplacesNothing() throws {
    let none = place.folder.appending(path: "none.sqlite").path
    func expectBad(_ detail: String, at path: String) {
      #expect(throws: LedgerError.badBackup(path: path, detail: detail)) {
        try restore(from: path)
      }
    }
    expectBad("No such file or directory", at: none)
    expectBad("it is not a file", at: place.folder.path)
    try FileManager.default.createSymbolicLink(atPath: none, withDestinationPath: backup)
    expectBad("it is a symbolic link; put the file itself there", at: none)
    try Data(repeating: 0x61, count: 10_000).write(to: URL(filePath: backup))
    #expect(
      throws: LedgerError.badBackup(
        path: backup, detail: "it is damaged (file is not a database)")
    ) { try restore(from: backup) }
    #expect(try place.open().verify() == 2)
  }

  @Test func aLedgerInUseIsNoBackup() throws {
    let other = try TemporaryLedger()
    let kiosk = try other.open()
    let detail = "a kiosk uses it; make a copy of it with juice-kiosk ledger backup"
    #expect(throws: LedgerError.badBackup(path: other.path, detail: detail)) {
      try restore(from: other.path, replacing: true)
    }
    #expect(try kiosk.verify() == 0)
  }

  @Test func noKioskMayRunMeanwhile() throws {
    let kiosk = try place.open()
    let process = Int(ProcessInfo.processInfo.processIdentifier)
    #expect(throws: LedgerError.inUse(path: place.path, process: process)) {
      try restore(from: backup, replacing: true)
    }
    try kiosk.commit(LedgerTransaction(.banana(3, ticket: 2)))
  }

  /// The broker could redeliver orders that the backup does not contain.
  @Test func theSessionOfTheFormerLedgerIsForgotten() throws {
    do {
      let ledger = try place.open()
      ledger.recordHeartbeat(at: Timestamp(milliseconds: 1_795_251_600_123))
      ledger.recordAcknowledged(through: 2)
      try ledger.commit(LedgerTransaction(.banana(3, ticket: 2)))
    }
    _ = try restore(from: backup, replacing: true)
    let ledger = try place.open()
    #expect(ledger.lastHeartbeat == nil)
    #expect(ledger.acknowledged == nil)
  }
}
