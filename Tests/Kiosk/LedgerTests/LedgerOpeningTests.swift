import Foundation
import GRDB
import JuiceDomain
import KioskCore
import KioskProtocol
import Testing

@testable import Ledger

@Suite struct LedgerOpeningTests {
  private let place: TemporaryLedger

  init() throws { place = try TemporaryLedger() }

  @Test func aSecondKioskIsTurnedAway() throws {
    let ledger = try place.open()
    let process = Int(ProcessInfo.processInfo.processIdentifier)
    #expect(throws: LedgerError.inUse(path: place.path, process: process)) { try place.open() }
    #expect(try ledger.state().seq == 0)
  }

  /// The lock file is beside each name of the ledger.
  @Test func aSecondKioskByAHardLinkIsTurnedAway() throws {
    let other = try TemporaryLedger()
    let ledger = try place.open()
    #expect(link(place.path, other.path) == 0)
    #expect(throws: LedgerError.inUse(path: other.path, process: nil)) { try other.open() }
    #expect(try ledger.state().seq == 0)
  }

  #if os(Linux)
  /// A new child process shares the descriptors until its exec: a copy of each has the same effect.
  @Test func aClosedLedgerIsFreeWhileAChildProcessStillSharesItsDescriptors() throws {
    var ledger: KioskLedger? = try place.open()
    #expect(try ledger?.state().seq == 0)
    let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
    let copies = names.compactMap { name -> Int32? in
      let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
      guard let file, file.hasPrefix(place.path) else { return nil }
      return Int32(name).map { dup($0) }
    }
    defer { for copy in copies { close(copy) } }
    #expect(copies.count > 2)
    ledger = nil
    #expect(try place.open().state().seq == 0)
  }
  #endif

  @Test func aRemovedLedgerIsSavedOnceAndNotReplacedByANewOne() throws {
    let ledger = try place.open()
    try ledger.commit(LedgerTransaction(.opened(1, ["banana": 10])))
    try ledger.checkFile()
    #expect(unlink(place.path) == 0)
    let copy = place.path + ".rescued-1"
    let error = LedgerError.removed(path: place.path, rescued: copy, detail: "")
    #expect(throws: error) { try ledger.checkFile() }
    #expect(throws: error) { try ledger.checkFile() }
    #expect(try KioskLedger(path: copy, readOnly: true).state().seq == 1)
    #expect(!FileManager.default.fileExists(atPath: place.path + ".rescued-2"))
  }

  @Test func aLedgerThatWasReplacedIsNotWrittenTo() throws {
    let (ledger, other) = (try place.open(), try TemporaryLedger())
    try other.write(LedgerTransaction(.opened(1, ["banana": 10])))
    #expect(rename(other.path, place.path) == 0)
    #expect(throws: LedgerError.self) { try ledger.checkFile() }
  }

  @Test func aStartAfterARemovedLedgerAsksForItsCopy() throws {
    try place.write(LedgerTransaction(.opened(1, ["banana": 10])))
    let copy = place.path + ".rescued-1"
    #expect(rename(place.path, copy) == 0)
    #expect(throws: LedgerError.notRestored(path: place.path, rescued: copy)) { try place.open() }
    _ = try KioskLedger.restore(from: BackupFile(path: copy), to: place.path)
    #expect(try place.open().state().seq == 1)
  }

  @Test func whoHasItOpenCanBeAskedWithoutChangingAnything() throws {
    #expect(try KioskLedger.lockHolder(of: place.path) == .unlocked(lastHeartbeat: nil))
    #expect(!FileManager.default.fileExists(atPath: place.path + ".lock"))
    let alive = Timestamp(milliseconds: 1_795_251_600_123)
    do {
      let ledger = try place.open()
      ledger.recordHeartbeat(at: alive)
      let process = Int(ProcessInfo.processInfo.processIdentifier)
      #expect(try KioskLedger.lockHolder(of: place.path) == .kiosk(process: process))
    }
    #expect(try KioskLedger.lockHolder(of: place.path) == .unlocked(lastHeartbeat: alive))
    #expect(try place.open().lastHeartbeat == alive)
  }

  @Test(arguments: ["", "-wal", "-shm", "-journal", ".lock"])
  func aLinkInPlaceOfTheLedgerOrOfWhatBelongsToItIsRefused(suffix: String) throws {
    do { _ = try place.open() }
    let (file, target) = (place.path + suffix, place.path + ".elsewhere")
    if suffix.isEmpty {
      try FileManager.default.moveItem(atPath: file, toPath: target)
    } else {
      try? FileManager.default.removeItem(atPath: file)
    }
    try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: target)
    let before = FileManager.default.contents(atPath: target)
    let error = LedgerError.cannotOpen(
      path: file, detail: "it is a symbolic link; put the file itself there")
    #expect(throws: error) { try place.open() }
    #expect(throws: error) { try place.open(readOnly: true) }
    #expect(throws: error) { try KioskLedger.lockHolder(of: place.path) }
    #expect(FileManager.default.contents(atPath: target) == before)
  }

  @Test func aLedgerThatWasClosedMayBeOpenedAgain() throws {
    do { _ = try place.open() }
    #expect(throws: Never.self) { try place.open() }
  }

  @Test func theLastSignOfLifeIsRemembered() throws {
    let alive = Timestamp(milliseconds: 1_795_251_600_123)
    do { try place.open().recordHeartbeat(at: alive) }
    #expect(try place.open().lastHeartbeat == alive)
  }

  /// A Raspberry Pi continues from the time of its shutdown, also beside a hardware clock that is not read, and a
  /// hardware clock that was without power from a time long ago. The wall clock shows 1,795,251,620.
  @Test(
    arguments: [
      // (start of the system, is the wall clock set, hardware clock, is the heartbeat used)
      (2, false, nil, false), (2, true, nil, true), (2, false, 1_795_251_620, true),
      (2, false, 1_795_251_680, true), (2, false, 1_795_251_681, false),
      (2, false, 946_684_800, false), (1, false, nil, true), (nil, false, nil, false),
    ] as [(Int?, Bool, Int64?, Bool)])
  func aSignOfLifeFromBeforeTheSystemWasOffCountsOnlyIfItKnowsTheTime(
    boot: Int?, isSynchronised: Bool, hardwareSeconds: Int64?, counts: Bool
  ) throws {
    let alive = Timestamp(milliseconds: 1_795_251_600_123)
    do {
      let clock = SystemClock(
        boot: boot == nil ? nil : 1, isSynchronised: true, hardwareSeconds: nil, wallSeconds: 0)
      try KioskLedger(path: place.path, clock: clock).recordHeartbeat(at: alive)
    }
    let clock = SystemClock(
      boot: boot, isSynchronised: isSynchronised, hardwareSeconds: hardwareSeconds,
      wallSeconds: 1_795_251_620)
    #expect(try KioskLedger(path: place.path, clock: clock).lastHeartbeat == (counts ? alive : nil))
  }

  /// The clock of a Raspberry Pi stands still while it is off.
  @Test func theFirstHeartbeatAfterTheSystemWasOffIsRecorded() throws {
    let alive = Timestamp(milliseconds: 1_795_251_600_123)
    for boot in [1, 2] {
      let clock = SystemClock(
        boot: boot, isSynchronised: false, hardwareSeconds: nil, wallSeconds: 0)
      let ledger = try KioskLedger(path: place.path, clock: clock)
      for milliseconds: Int64 in [0, 99] {
        ledger.recordHeartbeat(at: Timestamp(milliseconds: alive.milliseconds + milliseconds))
      }
    }
    let clock = SystemClock(boot: 2, isSynchronised: false, hardwareSeconds: nil, wallSeconds: 0)
    #expect(try KioskLedger(path: place.path, clock: clock).lastHeartbeat == alive)
  }

  @Test(arguments: [(99, 0), (100, 100), (-1, -1)] as [(Int64, Int64)])
  func aHeartbeatIsWrittenOnceIn100Milliseconds(later: Int64, recorded: Int64) throws {
    let alive = Timestamp(milliseconds: 1_795_251_600_123)
    do {
      let ledger = try place.open()
      ledger.recordHeartbeat(at: alive)
      ledger.recordHeartbeat(at: Timestamp(milliseconds: alive.milliseconds + later))
    }
    let last = try place.open().lastHeartbeat
    #expect(last == Timestamp(milliseconds: alive.milliseconds + recorded))
  }

  /// A kiosk that crashes before its first heartbeat has read none of its queued messages. Its
  /// start must not make the next process resume a session that is too old.
  @Test func openingIsNoSignOfLife() throws {
    let alive = Timestamp(milliseconds: 1_795_251_600_123)
    do { try place.open().recordHeartbeat(at: alive) }
    do { _ = try place.open() }
    #expect(try place.open().lastHeartbeat == alive)
  }

  @Test func aLedgerThatNeverBeatWasNeverAliveRecently() throws {
    do { _ = try place.open() }
    let lastHeartbeat = try place.open().lastHeartbeat
    #expect(lastHeartbeat == nil)
  }

  @Test func whatWasAcknowledgedIsRemembered() throws {
    do {
      let ledger = try place.open()
      #expect(ledger.acknowledged == nil)
      ledger.recordHeartbeat(at: Timestamp(milliseconds: 7_000))
      for seq in [9, 12_345, 98] { ledger.recordAcknowledged(through: seq) }
    }
    do {
      let ledger = try place.open()
      #expect(ledger.acknowledged == 98)
      #expect(ledger.lastHeartbeat == Timestamp(milliseconds: 7_000), "it is no sign of life")
      let process = Int(ProcessInfo.processInfo.processIdentifier)
      #expect(throws: LedgerError.inUse(path: place.path, process: process)) { try place.open() }
    }
    #expect(try place.open().acknowledged == 98, "until there is something to note")
  }

  @Test(arguments: [true, false])
  func aLedgerOfALaterVersionIsRefused(readOnly: Bool) throws {
    do { _ = try place.open() }
    try place.tamper("INSERT INTO grdb_migrations VALUES ('3 something new')")
    #expect(throws: LedgerError.newer(path: place.path)) { try place.open(readOnly: readOnly) }
  }

  @Test func aFolderThatIsNotThereIsNamed() {
    let path = place.folder.appending(path: "none/ledger.sqlite").path
    #expect(throws: LedgerError.cannotOpen(path: path, detail: "No such file or directory")) {
      try KioskLedger(path: path)
    }
  }

  @Test func aReaderDoesNotMakeALedger() {
    let error = #expect(throws: LedgerError.self) { try place.open(readOnly: true) }
    guard case .cannotOpen(place.path, _) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(!FileManager.default.fileExists(atPath: place.path))
  }

  @Test func aReaderOfAnotherDatabaseIsTold() throws {
    try place.tamper("CREATE TABLE recipes (name TEXT)")
    let error = #expect(throws: LedgerError.self) { try place.open(readOnly: true) }
    #expect(error == .cannotOpen(path: place.path, detail: "it is not a ledger"))
  }

  @Test(arguments: [true, false])
  func aFileThatIsNoDatabaseIsRefused(readOnly: Bool) throws {
    try Data(repeating: 0x61, count: 10_000).write(to: URL(filePath: place.path))
    #expect(throws: LedgerError.damaged(path: place.path, detail: "file is not a database")) {
      try place.open(readOnly: readOnly)
    }
  }
}
