import JuiceDomain
import KioskCore
import KioskProtocol
import Testing

@testable import Ledger

@Suite struct LedgerRepeatsTests {
  private let place: TemporaryLedger

  init() throws { place = try TemporaryLedger() }

  private func fingerprint(_ packetID: UInt16, _ payload: String = "banana") -> Fingerprint {
    Fingerprint(packetID: packetID, topic: "kiosk/k1/order/panel1", payload: Array(payload.utf8))
  }

  @Test func anAnswerIsRecalledByTheSendersID() throws {
    let other = Source(kind: .order, name: "panel2")
    let record = LedgerTransaction.Record(
      1, .service(.open), id: "a1", message: "one", key: .request(panel, "a1"),
      reply: Reply(topic: "result/1", correlationData: [0, 255]))
    try place.write(LedgerTransaction(record))

    let keys: [RepeatKey] = [
      .request(panel, "a1"), .request(panel, "A1"), .request(other, "a1"),
      .request(Source(kind: .restock, name: "panel1"), "a1"), .delivery(fingerprint(1)),
    ]
    #expect(try place.open().repeats(of: keys) == [.request(panel, "a1"): record.row])
    #expect(try place.open().repeats(of: []).isEmpty)
  }

  @Test func anAnswerIsRecalledByItsFingerprint() throws {
    try place.write(
      LedgerTransaction(
        .init(1, .service(.open), message: "one", key: .delivery(fingerprint(1))),
        .init(2, .service(.open), message: "two", key: .delivery(fingerprint(65_535, "kiwi")))))
    let repeats = try place.open().repeats(of: [
      .delivery(fingerprint(1)), .delivery(fingerprint(1, "kiwi")), .delivery(fingerprint(2)),
      .delivery(fingerprint(65_535, "kiwi")),
    ])
    #expect(repeats.count == 2)
    #expect(repeats[.delivery(fingerprint(1))]?.message == "one")
    #expect(repeats[.delivery(fingerprint(65_535, "kiwi"))]?.message == "two")
  }

  /// A broker that restarts packet ids on each connection uses one packet id for many presses.
  @Test func ofSeveralAnswersToOneFingerprintTheNewestIsRecalled() throws {
    let ledger = try place.open()
    // The newest one is at seq 950.
    for seq in 1...Fingerprint.kept {
      let key = seq % 100 == 50 ? fingerprint(1) : fingerprint(2, "\(seq)")
      try ledger.commit(
        LedgerTransaction(.init(seq, .service(.open), message: "\(seq)", key: .delivery(key))))
    }
    let key = RepeatKey.delivery(fingerprint(1))
    #expect(try ledger.repeats(of: [key])[key]?.message == "950")
  }

  @Test func theLastFingerprintsAreKept() throws {
    let ledger = try place.open()
    var transaction = LedgerTransaction()
    for seq in 1...1100 {
      transaction.append(.init(seq, .service(.open), key: .delivery(fingerprint(UInt16(seq)))))
    }
    try ledger.commit(transaction)
    #expect(try place.count("delivery") == 1024)
    let repeats = try ledger.repeats(of: (1...1100).map { .delivery(fingerprint(UInt16($0))) })
    #expect(
      Set(repeats.keys) == Set((77...1100).map { .delivery(fingerprint(UInt16($0))) }))
  }

  /// Packet ids repeat after 65,535 deliveries, most of which may have ids or contain no orders.
  @Test(arguments: [true, false])
  func aFingerprintIsForgottenByTheDeliveriesAfterIt(orders: Bool) throws {
    let key = RepeatKey.delivery(fingerprint(7))
    var transaction = LedgerTransaction(.init(1, .service(.open), key: key))
    transaction.deliveries = 1
    try place.write(transaction)
    let ledger = try place.open()
    func deliver(_ count: Int, as seq: Int) throws {
      var transaction = LedgerTransaction()
      if orders {
        let id = try #require(Request.ID("a\(seq)"))
        transaction.records = [.init(seq, .service(.open), id: id, key: .request(panel, id))]
      }
      transaction.deliveries = count
      try ledger.commit(transaction)
    }
    try deliver(1000, as: 2)
    #expect(try ledger.repeats(of: [key]).count == 1)
    try deliver(23, as: 3)
    #expect(try ledger.repeats(of: [key]).count == 1)
    try deliver(1, as: 4)
    #expect(try ledger.repeats(of: [key]).isEmpty)
    #expect(try place.count("delivery") == 0)
  }

  @Test func deliveriesAfterAnEntryComeInTheirOrder() throws {
    let keys: [RepeatKey] = [
      .delivery(fingerprint(8)), .delivery(fingerprint(65_535)), .request(panel, "a1"),
      .delivery(fingerprint(1, "kiwi")),
    ]
    let records = zip(1..., keys).map { seq, key in
      LedgerTransaction.Record(seq, .service(.open), key: key)
    }
    for record in records { try place.write(LedgerTransaction(record)) }
    let ledger = try place.open()
    #expect(
      try ledger.deliveries(after: 0)
        == [fingerprint(8), fingerprint(65_535), fingerprint(1, "kiwi")])
    #expect(try ledger.deliveries(after: 1) == [fingerprint(65_535), fingerprint(1, "kiwi")])
    #expect(try ledger.deliveries(after: 3) == [fingerprint(1, "kiwi")])
    #expect(try ledger.deliveries(after: 4).isEmpty)
  }

  /// A bounced press refers to the entry of the earlier press, and may arrive much later.
  @Test func aDeliveryThatCountedAsAnEarlierOneIsNotTakenForAcknowledged() throws {
    let records = (1...3).map { seq in
      LedgerTransaction.Record(
        seq, .service(.open), key: .delivery(fingerprint(UInt16(seq))))
    }
    var transaction = LedgerTransaction(records[0], records[1])
    try place.write(transaction)
    transaction = LedgerTransaction()
    transaction.keep(fingerprint(8), as: 1, acknowledgedWith: 3)
    transaction.append(records[2])
    transaction.keep(fingerprint(9), as: 1, acknowledgedWith: 4)
    try place.write(transaction)
    #expect(
      try place.open().deliveries(after: 2) == [fingerprint(8), fingerprint(3), fingerprint(9)])
    #expect(try place.open().deliveries(after: 3) == [fingerprint(9)])
    // It is not deleted with that entry either.
    let ledger = try place.open()
    try ledger.deleteDeliveries(through: 2)
    #expect(try ledger.deliveries(after: 0) == [fingerprint(8), fingerprint(3), fingerprint(9)])
    #expect(try ledger.repeats(of: [.delivery(fingerprint(1)), .delivery(fingerprint(2))]).isEmpty)
    try ledger.deleteDeliveries(through: 3)
    #expect(try ledger.deliveries(after: 0) == [fingerprint(9)])
  }

  @Test func fingerprintsTellPacketTopicAndPayloadApart() {
    func digest(_ topic: String, _ payload: String) -> UInt64 {
      Fingerprint(packetID: 1, topic: topic, payload: Array(payload.utf8)).digest
    }
    // FNV-1a of "t", a zero byte and "p", which is equal in every process.
    #expect(digest("t", "p") == 0x566d_c619_43ee_36cb)
    #expect(
      Set([digest("ab", "c"), digest("a", "bc"), digest("abc", ""), digest("", "abc")]).count == 4)
    #expect(fingerprint(1) != fingerprint(2))
  }

  @Test(arguments: [(99_999, false), (100_000, true)])
  func idsAreKnownForSoManyEntriesHoweverOldTheyAre(later: Int, forgets: Bool) throws {
    let key = RepeatKey.request(panel, "a1")
    func record(_ seq: Int) -> LedgerTransaction.Record {
      .init(seq, .service(.open), at: 400 * 86_400_000, id: "a1", message: "\(seq)", key: key)
    }
    try place.write(LedgerTransaction(.init(1, .service(.open), id: "a1", key: key)))
    try place.tamper(
      """
      WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < \(later))
      INSERT INTO entry (seq, at, status, event)
        SELECT i, 0, 'open', json_object('seq', i, 'status', 'open') FROM n;
      """)
    let ledger = try place.open()
    #expect(try ledger.repeats(of: [key]).count == 1)
    try ledger.commit(LedgerTransaction(.init(later + 1, .service(.open), id: "z")))
    #expect(try ledger.repeats(of: [key]).isEmpty == forgets)
    #expect(try place.open(readOnly: true).repeats(of: [key]).isEmpty == forgets)
    // A forgotten request is executed again, a known one is not.
    if forgets {
      try ledger.commit(LedgerTransaction(record(later + 2)))
      #expect(try ledger.repeats(of: [key])[key]?.message == "\(later + 2)")
    } else {
      #expect(throws: LedgerError.self) {
        try ledger.commit(LedgerTransaction(record(later + 2)))
      }
    }
  }
}
