import Foundation
import GRDB
import JuiceMaker
import KioskMessages
import Testing

@testable import Ledger

/// With a ledger of 10,120 entries: the first 120 are 100 days older than the last 100.
@Suite struct LedgerArchiveTests {
  private let place: TemporaryLedger
  private let folder: String

  private static let last = 10_120
  private static let day: Int64 = 86_400_000

  init() throws {
    place = try TemporaryLedger()
    folder = place.folder.appending(path: "archive").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    var transaction = LedgerTransaction(
      .opened(1, ["banana": 10, "kiwi": 3]),
      .init(
        2, .ready(Order(juice: "banana"), used: ["banana": 2], ticket: Ticket(day: 0, number: 1)),
        id: "a1", answer: #"{"id":"a1","seq":2}"#, key: .request(panel, "a1")),
      .init(
        3, .rejected(.closed, order: Order(juice: "kiwi")), answer: "closed",
        key: .delivery(Fingerprint(packetID: 1, digest: 7))))
    transaction.confirmed = Self.last
    try place.write(transaction)
    try place.tamper(
      """
      WITH RECURSIVE n(i) AS (SELECT 4 UNION ALL SELECT i + 1 FROM n WHERE i < \(Self.last))
      INSERT INTO entry (seq, at, status, moved)
      SELECT i, CASE WHEN i > 10020 THEN 100 * \(Self.day) ELSE 0 END, 'restocked', 98 FROM n;
      INSERT INTO text VALUES (98, '{"banana":1}');
      UPDATE stock SET quantity = quantity + \(Self.last - 3) WHERE fruit = 'banana';
      """)
  }

  private func archive(_ days: Int = 90) throws -> ArchivedEntries? {
    try place.open().archive(olderThan: days, in: folder)
  }

  private var files: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }
  }

  private var firstFile: URL {
    URL(filePath: folder).appending(path: "entries-000000000001.jsonl.gz")
  }

  private func expectArchived(through last: Int, files count: Int) throws {
    let ledger = try place.open()
    #expect(try ledger.archived.map(\.last).last == last)
    #expect(try ledger.archived.count == count)
    #expect(try ledger.entries(after: 0, limit: 1).first?.entry.seq == last + 1)
    #expect(try ledger.verifyArchive(in: folder) == last)
    try ledger.verify()
  }

  private func refused(_ words: String, _ body: () throws -> Any?) throws {
    let error = #expect(throws: LedgerError.self) { _ = try body() }
    #expect("\(try #require(error))".contains(words))
  }

  @Test func oldEntriesGoIntoAFileAndTheSumIsStillProved() throws {
    let before = try place.open().state()
    let moved = try #require(try archive())
    #expect((moved.first, moved.last) == (1, 120))
    #expect(try files == ["entries-000000000001.jsonl.gz"])
    try expectArchived(through: 120, files: 1)
    let after = try place.open().state()
    #expect(after == before)
    #expect(after.tickets == [0: 1])
    #expect(try place.open().verify() == Self.last - 120)
    #expect(try archive() == nil)
  }

  @Test func theNextFileGoesOnWhereTheLastOneEnds() throws {
    _ = try archive()
    var transaction = LedgerTransaction()
    transaction.records = (1...30).map { number in
      .init(Self.last + number, .restocked(changes: ["kiwi": 1]), at: 101 * Self.day)
    }
    try place.write(transaction)
    let moved = try #require(try archive())
    #expect((moved.first, moved.last) == (121, 150))
    #expect(try files.count == 2)
    try expectArchived(through: 150, files: 2)
    #expect(try place.open().state().stock["kiwi"] == 33)
  }

  @Test func whatIsNotOldEnoughStays() throws {
    #expect(try archive(101) == nil)
    try place.tamper("UPDATE entry SET at = 80 * \(Self.day) WHERE seq > 50 AND at = 0")
    #expect(try archive(90)?.last == 50)
    // Never so much that the sales of a month cannot be told.
    #expect(try archive(1) == nil)
  }

  @Test func whatTheBrokerHasNotConfirmedStays() throws {
    try place.tamper("UPDATE kiosk SET confirmed = 70")
    #expect(try archive()?.last == 70)
  }

  @Test func anAttemptThatWasCutOffIsFinishedByTheNextOne() throws {
    try place.open(readOnly: true).backUp(to: place.path + ".before")
    _ = try archive()
    let written = try Data(contentsOf: firstFile)
    // As if the power had failed before the entries were deleted; more are old enough meanwhile.
    _ = try Ledger.restore(from: place.path + ".before", to: place.path, replacing: true)
    #expect(try place.open().archived.isEmpty)
    var transaction = LedgerTransaction()
    transaction.records = (1...10).map { number in
      .init(Self.last + number, .service(.open), at: 101 * Self.day)
    }
    try place.write(transaction)
    #expect(try archive()?.last == 120)
    #expect(try Data(contentsOf: firstFile) == written)
    #expect(try archive()?.last == 130)
    try expectArchived(through: 130, files: 2)
  }

  @Test func aFileThatGoesFurtherWaits() throws {
    try place.open(readOnly: true).backUp(to: place.path + ".before")
    _ = try archive()
    _ = try Ledger.restore(from: place.path + ".before", to: place.path, replacing: true)
    try place.tamper("UPDATE kiosk SET confirmed = 70")
    try refused("it goes on to entry 120, but only those up to 70 are old enough") { try archive() }
    #expect(try place.open().verify() == Self.last)
  }

  @Test func aFileOfAnotherLedgerIsNotTaken() throws {
    let other = try LedgerArchiveTests()
    try other.place.tamper("UPDATE entry SET at = 1 WHERE seq = 60")
    _ = try other.archive()
    try FileManager.default.copyItem(at: other.firstFile, to: firstFile)
    try refused("its entry 60 is another one; choose another folder") { try archive() }
    #expect(try place.open().verify() == Self.last)
  }

  @Test func aDamagedFileIsNotTaken() throws {
    try place.open(readOnly: true).backUp(to: place.path + ".before")
    _ = try archive()
    let whole = try Data(contentsOf: firstFile)
    var flipped = whole
    flipped[whole.count / 2] ^= 0xFF
    let partial = try #require(
      "{\"record\":\"ledger\",\"version\":1,\"after\":0}\n".data(using: .utf8))
    for wrong in [flipped, whole.dropLast(9), whole.prefix(whole.count / 2), partial, Data()] {
      try wrong.write(to: firstFile)
      #expect(throws: LedgerError.self) { try place.open().verifyArchive(in: folder) }
    }
    _ = try Ledger.restore(from: place.path + ".before", to: place.path, replacing: true)
    for wrong in [flipped, whole.dropLast(9), whole.prefix(whole.count / 2), partial, Data()] {
      try wrong.write(to: firstFile)
      #expect(throws: LedgerError.self) { try archive() }
      #expect(try place.open().verify() == Self.last)
    }
  }

  private func change(_ text: String, to other: String) throws {
    let reader = try GzipReader(path: firstFile.path)
    var bytes: [UInt8] = []
    while case let more = try reader.read(), !more.isEmpty { bytes += more }
    let changed = String(decoding: bytes, as: UTF8.self).replacing(text, with: other)
    let writer = try GzipWriter(path: firstFile.path)
    for line in changed.split(separator: "\n") { try writer.write(String(line)) }
    try writer.finish()
  }

  @Test func aFileThatWasChangedOrIsMissingIsFound() throws {
    _ = try archive()
    // The sums are the same.
    try change(#""id":"a1","s"#, to: #""id":"a9","s"#)
    try refused("its checksum is another one") { try place.open().verifyArchive(in: folder) }
    try change(#""after":0"#, to: #""after":7,"stock":{"kiwi":1}"#)
    try refused("it does not go on where the file before it ends") {
      try place.open().verifyArchive(in: folder)
    }
    try FileManager.default.removeItem(at: firstFile)
    try refused("it is missing, with the entries 1 to 120") {
      try place.open().verifyArchive(in: folder)
    }
  }

  @Test func aChangedBalanceIsFound() throws {
    _ = try archive()
    try place.tamper("UPDATE carried SET balance = balance + 1 WHERE fruit = 2")
    try refused("the stock of kiwi is 3, but its entries add up to 4") {
      try place.open(readOnly: true).verify()
    }
    try refused("but the ledger goes on from") {
      try place.open(readOnly: true).verifyArchive(in: folder)
    }
  }

  @Test func idsThatAreKnownStayKnownAndDeliveriesThatCannotComeAgainGo() throws {
    let late = LedgerTransaction.Record(
      Self.last + 1, .service(.open), at: 100 * Self.day, id: "z", answer: "z",
      key: .request(panel, "z"))
    var transaction = LedgerTransaction(late)
    transaction.confirmed = Self.last + 1
    try place.write(transaction)
    #expect(try archive()?.last == 121)
    let ledger = try place.open()
    #expect(try ledger.recall([.request(panel, "z")]).count == 1)
    #expect(try ledger.recall([.request(panel, "a1")]).isEmpty, "it was forgotten before")
    #expect(try place.count("delivery") == 0)
  }

  @Test func anArchivedLedgerIsExportedAndImported() throws {
    _ = try archive()
    let (file, other) = (place.folder.appending(path: "export").path, try TemporaryLedger())
    let writer = try GzipWriter(path: file)
    try place.open(readOnly: true).export { try writer.write($0.line(.jsonl)) }
    try writer.finish()
    #expect(try Ledger.import(from: file, format: .jsonl, to: other.path) == Self.last - 120)
    let (copy, original) = (try other.open(), try place.open())
    #expect(try copy.state() == original.state())
    #expect(try copy.archived == original.archived)
    #expect(try copy.verifyArchive(in: folder) == 120)
    #expect(try copy.verify() == Self.last - 120)
  }

  @Test func aFolderThatIsNotThereIsNamed() throws {
    let none = folder + "/none"
    #expect(
      throws: LedgerError.cannotOpen(
        path: none + "/entries-000000000001.jsonl.gz.partial", detail: "No such file or directory")
    ) { try place.open().archive(olderThan: 90, in: none) }
    #expect(try place.open().verify() == Self.last)
  }
}
