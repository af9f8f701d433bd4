import Foundation
import GRDB
import JuiceMaker
import KioskMessages
import Testing

@testable import Ledger

@Suite struct LedgerExchangeTests {
  private let place: TemporaryLedger
  private let other: TemporaryLedger

  init() throws {
    place = try TemporaryLedger()
    other = try TemporaryLedger()
  }

  private var file: String { place.folder.appending(path: "export").path }

  /// One of everything.
  private func fill() throws {
    func fingerprint(_ packet: UInt16) -> Fingerprint {
      Fingerprint(packetID: packet, topic: "t", payload: [UInt8(truncatingIfNeeded: packet)])
    }
    let ledger = try place.open()
    var transaction = LedgerTransaction(
      .opened(1, ["banana": 10, "kiwi": 0]),
      .init(
        2,
        .ready(
          Order(juice: "banana", quantity: 2), used: ["banana": 4],
          ticket: Ticket(day: 20_778, number: 41)),
        at: 1_795_251_600_007, id: "a-1_B",
        answer: #"{"id":"a-1_B","seq":2,"ticket":41,"message":"바나나, \"쥬스\"\n나왔습니다"}"#,
        key: .request(panel, "a-1_B")),
      .init(
        3, .outOfStock(Order(juice: "kiwi"), missing: ["kiwi": 3]),
        source: Source(kind: .order, name: "주문, \"1\""), answer: "{}",
        key: .delivery(fingerprint(7))),
      .init(4, .rejected(.malformed, order: nil), answer: ""),
      .init(5, .rejected(.quantityOutOfRange, order: Order(juice: "tea", quantity: .min))),
      .init(6, .restocked(changes: ["banana": -1, "kiwi": 5])),
      .init(7, .restocked(changes: [:])), .init(8, .service(.closed)))
    transaction.records += [
      .init(
        entry: .init(
          seq: 9, at: Timestamp(milliseconds: -1), source: panel, id: nil,
          outcome: .service(.open)),
        answer: Answer(topic: "r/\u{1}", correlationData: [0, 255], payload: [0xFF, 0x00]),
        key: .delivery(fingerprint(65_535))),
      .init(
        entry: .init(
          seq: 10, at: Timestamp(milliseconds: 9), source: nil, id: "x", outcome: .service(.open)),
        answer: Answer(topic: "", correlationData: [], payload: [])),
    ]
    transaction.echoes = [.init(fingerprint: fingerprint(3), seq: 2, recordsBefore: 10)]
    transaction.confirmed = 6
    transaction.service = .closed
    transaction.marks = ["hall/0": "", "a,b\r\n\"c\"": "7", "": "\u{0} x "]
    try ledger.commit(transaction)
    try ledger.setTopics(["kiosk/k1/stock", "kiosk/k1/줄\n바꿈"])
  }

  private func export(_ place: TemporaryLedger, _ format: RecordFormat) throws -> [String] {
    var lines = [LedgerRecord.header(format)].compactMap(\.self)
    try place.open(readOnly: true).export { lines.append($0.line(format)) }
    return lines
  }

  private func write(_ lines: [String], end: String = "\n") throws {
    try Data(lines.map { $0 + end }.joined().utf8).write(to: URL(filePath: file))
  }

  private func expectSame() throws {
    let (original, copy) = (try place.open(), try other.open())
    #expect(try copy.state() == original.state())
    let (given, entries) = (try original.entries(after: 0), try copy.entries(after: 0))
    #expect(given.map(\.entry) == entries.map(\.entry))
    #expect(given.map(\.answer) == entries.map(\.answer))
    #expect(try copy.deliveries(after: 0) == original.deliveries(after: 0))
    let keys = entries.compactMap { record -> RepeatKey? in
      guard let source = record.entry.source, let id = record.entry.id else { return nil }
      return .request(source, id)
    }
    #expect(try copy.recall(keys) == original.recall(keys))
    #expect(try copy.verify() == original.verify())
  }

  @Test(arguments: RecordFormat.allCases, ["\n", "\r\n"])
  func anExportBecomesTheSameLedger(format: RecordFormat, end: String) throws {
    try fill()
    let lines = try export(place, format)
    try write(lines, end: end)
    #expect(try Ledger.import(from: file, format: format, to: other.path) == 10)
    try expectSame()
    #expect(try export(other, format) == lines)
    let names = try FileManager.default.contentsOfDirectory(atPath: other.folder.path)
    #expect(
      Set(names).isSubset(of: [
        "ledger.sqlite", "ledger.sqlite.lock", "ledger.sqlite-shm", "ledger.sqlite-wal",
      ]))
  }

  @Test(arguments: RecordFormat.allCases, [1, 2, 3, 4])
  func anExportOfEachVersionBecomesTheSameLedger(format: RecordFormat, version: Int) throws {
    try place.become(version: version)
    try write(try export(place, format))
    _ = try Ledger.import(from: file, format: format, to: other.path)
    try expectSame()
  }

  @Test func aCompressedExportIsImported() throws {
    try fill()
    let writer = try GzipWriter(path: file)
    for line in try export(place, .jsonl) { try writer.write(line) }
    try writer.finish()
    #expect(try Ledger.import(from: file, format: .jsonl, to: other.path) == 10)
    try expectSame()
    try FileManager.default.removeItem(atPath: other.path)
    let whole = try Data(contentsOf: URL(filePath: file))
    try whole.dropLast(20).write(to: URL(filePath: file))
    let error = #expect(throws: LedgerError.self) {
      try Ledger.import(from: file, format: .jsonl, to: other.path)
    }
    guard case .badFile = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func manyEntriesAreImportedInTheirOrder() throws {
    let first = LedgerRecord.ledger(after: 0, stock: [:])
    let entries = (1...2500).map { seq in
      LedgerRecord.entry(
        .init(
          seq: seq, at: Timestamp(milliseconds: Int64(seq)), source: nil, id: nil,
          outcome: seq == 1 ? .opened(["kiwi": 0]) : .restocked(changes: ["kiwi": 1])), nil)
    }
    let end = LedgerRecord.end(seq: 2500, stock: ["kiwi": 2499])
    try write(([first] + entries + [end]).map { $0.line(.jsonl) })
    #expect(try Ledger.import(from: file, format: .jsonl, to: other.path) == 2500)
    #expect(try other.open().state().stock == ["kiwi": 2499])
  }

  @Test(
    arguments: [
      // In the lines of what `fill` has made, one text for another, and what is said then.
      (#""status":"opened""#, #""status":"opend""#, "9: status: there is no such status"),
      (#""seq":2,"#, #""seq":3,"#, "10: seq: it is 3, but 2 is the next entry"),
      (#""seq":2,"#, #""seq":"2","#, "10: seq: it is not a whole number"),
      (#""seq":2,"#, "", "10: seq: it is missing"),
      (#""seq":2,"#, #""seq":0,"#, "10: seq: 0 is not possible here"),
      (#"2026-11-21T"#, "2026-13-21T", "10: at: there is no such at"),
      (#""banana":-4"#, #""banana":-40"#, "10: changes: the stock of banana would be -30"),
      (#""banana":-4"#, #""durian":-4"#, "10: changes: no entry before has opened durian"),
      (#""banana":-4"#, #""banana":4"#, "10: changes: 4 of banana is not possible here"),
      (#""banana":-4"#, #""banana":"-4""#, "10: changes: it is not amounts of fruit"),
      (#""ticket":41,"#, "", "10: ticket: it is missing"),
      (#""quantity":2"#, #""quantity":0"#, "10: quantity: 0 is not possible here"),
      (#""juice":"kiwi""#, #""juice":"ki wi""#, "11: juice: there is no such juice"),
      (#""missing":{"kiwi":3},"#, "", "11: missing: it is missing"),
      (#""reason":"malformed""#, #""reason":"bad""#, "12: reason: there is no such reason"),
      (
        #""banana":-1,"kiwi":5"#, #""banana":-1,"kiwi":4"#,
        "22: stock: it is 5 of kiwi, but the entries add up to 4"
      ),
      (
        #""correlation":"00ff""#, #""correlation":"0ff""#,
        "17: correlation: it is not bytes in hexadecimal digits"
      ),
      (#""correlation""#, #""corelation""#, "17: corelation: there is no such field"),
      (
        #""status":"closed""#, #""status":"closed","ticket":1"#,
        "16: ticket: it does not belong to a record of this kind"
      ),
      (
        #"{"record":"entry","seq":4"#, #"{"record":"entry" "seq":4"#,
        "12: not valid JSON at byte 18: a comma or a closing brace is missing"
      ),
      (#"{"record":"end""#, #"["record","end"]{"#, "22: not valid JSON at byte 16"),
      (#"{"record":"ledger""#, #"{"record":"mark""#, "1: key: it is missing"),
      (#""version":1"#, #""version":2"#, "1: version: a newer version of juice-kiosk wrote it"),
      (#""confirmed":6"#, #""confirmed":11"#, "22: confirmed: it is 11, but the last entry is 10"),
      (
        #""record":"delivery","seq":3"#, #""record":"delivery","seq":11"#,
        "19: seq: there is no entry 11 before this line"
      ),
      (
        #""record":"end","seq":10"#, #""record":"end","seq":9"#,
        "22: seq: it is 9, but the last entry is 10"
      ),
    ] as [(String, String, String)])
  func whatIsWrongIsToldWithLineAndField(text: String, wrong: String, words: String) throws {
    try fill()
    let whole = try export(place, .jsonl).joined(separator: "\n")
    #expect(whole.contains(text))
    let range = try #require(whole.range(of: text))
    try write([whole.replacingCharacters(in: range, with: wrong)])
    let error = #expect(throws: LedgerError.self) {
      try Ledger.import(from: file, format: .jsonl, to: other.path)
    }
    let told = "\(try #require(error))"
    #expect(told.hasPrefix("\(file):\(words)"))
    #expect(told.hasSuffix(". Nothing has been imported"))
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: other.folder.path)
        == ["ledger.sqlite.lock"])
  }

  @Test func aFileThatEndsEarlyIsNotImported() throws {
    try fill()
    for format in RecordFormat.allCases {
      let lines = try export(place, format)
      for count in 0..<lines.count {
        try write(Array(lines[..<count]))
        let error = #expect(throws: LedgerError.self) {
          try Ledger.import(from: file, format: format, to: other.path)
        }
        #expect("\(try #require(error))".contains("it ends early"), "\(count)")
      }
      try write(lines + [lines[lines.count - 1]])
      #expect(throws: LedgerError.self) {
        try Ledger.import(from: file, format: format, to: other.path)
      }
    }
  }

  @Test(
    arguments: [
      ("", "1: record: it ends early: the record end is missing"),
      ("record,seq\n", "2: record: it ends early: the record end is missing"),
      ("record,sequence\n", "1: sequence: the first line names the columns"),
      ("record,seq,seq\n", "1: seq: the first line names the columns"),
      ("record,,seq\n", "1: the first line names the columns"),
      ("record,seq\r\nentry\r\n", "2: it has 1 cells, not 2"),
      ("record,seq\n\"entry\"x,1\n", "2: something follows a cell in quotes"),
      ("record,seq\n\n\n\"entry\n", "4: it ends inside quotes"),
      ("record,seq\nentry,1\n", "2: at: it is missing"),
      ("\u{FEFF}record,seq\nentry,one\n", "2: seq: it is not a whole number"),
      ("record,seq\nentry,+1\n", "2: seq: it is not a whole number"),
      ("record,version,after,stock\nledger,1,0,kiwi 1 banana 2\n", "2: stock: it is not amounts"),
      ("record,version,after,stock\nledger,1,0,kiwi 1; kiwi 2\n", "2: stock: it is not amounts"),
      ("record,version,after\nmark,,\n", "2: key: it is missing"),
      ("record,key,value\nmark,\"\",\"\"\n", "2: record: the first one is not ledger"),
    ] as [(String, String)])
  func whatIsWrongInATableIsToldWithItsLine(text: String, words: String) throws {
    try Data(text.utf8).write(to: URL(filePath: file))
    let error = #expect(throws: LedgerError.self) {
      try Ledger.import(from: file, format: .csv, to: other.path)
    }
    #expect("\(try #require(error))".hasPrefix("\(file):\(words)"))
  }

  @Test func whatIsNoTextOrTooLongIsRefused() throws {
    func refused(_ data: Data, _ format: RecordFormat, _ words: String) throws {
      try data.write(to: URL(filePath: file))
      let error = #expect(throws: LedgerError.self) {
        try Ledger.import(from: file, format: format, to: other.path)
      }
      #expect("\(try #require(error))".contains(words))
    }
    let long = Data(repeating: 0x61, count: RecordReader.longest + 2)
    try refused(long, .jsonl, "1: it is longer than 1048576 bytes")
    try refused(long, .csv, "1: it is longer than 1048576 bytes")
    try refused(Data([0x22]) + long, .csv, "1: it is longer than 1048576 bytes")
    try refused(Data([0xFF]), .csv, "1: it is not valid UTF-8")
    try refused(Data("{\"record\":\"\u{1}\"}".utf8), .jsonl, "1: not valid JSON")
    try refused(Data("7\n".utf8), .jsonl, "1: it is a whole number, not an object")
    // An export without --full.
    try refused(
      Data(#"{"seq":1,"at":"1970-01-01T00:00:00Z","status":"opened"}"#.utf8), .jsonl,
      "1: record: it is missing")
  }

  @Test func onlyALedgerWithoutEntriesIsImportedInto() throws {
    try fill()
    try write(try export(place, .jsonl))
    do { _ = try other.open() }
    #expect(try Ledger.import(from: file, format: .jsonl, to: other.path) == 10)
    #expect(throws: LedgerError.notEmpty(path: other.path, entries: 10)) {
      try Ledger.import(from: file, format: .jsonl, to: other.path)
    }
    let kiosk = try other.open()
    let error = #expect(throws: LedgerError.self) {
      try Ledger.import(from: file, format: .jsonl, to: other.path)
    }
    guard case .inUse = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(try kiosk.state().seq == 10)
  }

  @Test func aFileThatIsNotThereIsNamed() {
    #expect(throws: LedgerError.badFile(path: file, detail: "No such file or directory")) {
      try Ledger.import(from: file, format: .jsonl, to: other.path)
    }
  }
}
