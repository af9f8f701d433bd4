import KioskCore
import KioskProtocol
import Ledger
import Testing

@Suite struct LedgerUplinkTests {
  private let place: TemporaryLedger

  init() throws { place = try TemporaryLedger() }

  @Test func whatIsUpThereOutlivesARestart() throws {
    #expect(try place.open().uplinked() == 0)
    var transaction = LedgerTransaction()
    transaction.uplinked = 7
    try place.write(transaction)
    #expect(try place.open(readOnly: true).uplinked() == 7)
  }

  @Test func theEntriesOfAnEpochAreOneStretch() throws {
    let ledger = try place.open()
    #expect(try ledger.entries(of: 1) == nil)
    var transaction = LedgerTransaction()
    let epochs = [8, 8, 8, 3, 5, 5, 5, 5, 5, 5, 5]
    for (index, epoch) in epochs.enumerated() {
      transaction.append(.init(index + 1, .service(.open), epoch: epoch))
    }
    try ledger.commit(transaction)
    for (epoch, seqs, before) in [(8, 1...3, nil), (3, 4...4, 8), (5, 5...11, 3)] {
      let entries = try ledger.entries(of: epoch)
      #expect(entries?.seqs == seqs)
      #expect(entries?.before == before)
    }
    #expect(try ledger.entries(of: 9) == nil)
  }
}
