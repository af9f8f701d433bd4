import JuiceDomain
import KioskProtocol
import Testing

@testable import ZVT

@Suite struct ChargeJournalTests {
  private func record(
    _ charge: Int, _ state: ChargeRecord.State, booked: Int? = nil, receipt: Int? = nil
  ) -> ChargeRecord {
    var record = ChargeRecord(
      ChargeRequest(charge: charge, ticket: 4, amount: Money(units: 350, .euro)), .reservation)
    (record.state, record.booked, record.receipt) = (state, booked, receipt)
    return record
  }

  private func endOfDay(_ total: Int, _ day: ChargeJournal.Day, net: Int) -> PaymentTotal {
    PaymentTotal(
      total: total, at: Timestamp(milliseconds: 1_000), captured: Money(units: day.captured, .euro),
      refunded: Money(units: day.refunded, .euro), count: day.count, terminalNet: net)
  }

  @Test func everyEntryIsReadAsItWasWritten() throws {
    var full = record(17, .captured, booked: 300, receipt: 231)
    full.isBookedEarly = true
    (full.held, full.asked, full.trace) = (350, 300, 975)
    (full.terminal, full.card, full.last4) = ("52523535", "girocard", "8004")
    full.reason = "interrupted"
    var journal = ChargeJournal()
    journal.apply(.charge(full))
    let total = endOfDay(7, journal.day, net: 300)
    let entries: [ChargeJournal.Entry] =
      [.charge(full), .closing(3), .total(total), .summary(last: 9, journal.day, total)]
      + ChargeRecord.State.allCases.map { .charge(record(1, $0)) } + journal.shortened
    for entry in entries {
      let line = entry.line(at: Timestamp(milliseconds: 0))
      #expect(ChargeJournal.Entry(line: line) == entry)
    }
    for line in [
      "", "{}", "{\"charge\":1}", "{\"closing\":\"a\"}", "{\"day\":{}}", "{\"last\":-1}",
    ] {
      #expect(ChargeJournal.Entry(line: Array(line.utf8)) == nil)
    }
  }

  @Test func theDayIsCountedOnce() {
    var journal = ChargeJournal()
    for state in [ChargeRecord.State.begun, .held, .capturing] {
      journal.apply(.charge(record(17, state)))
    }
    #expect(journal.day.captured == 0)
    journal.apply(.charge(record(17, .captured, booked: 350)))
    journal.apply(.charge(record(17, .refunding, booked: 350)))
    journal.apply(.charge(record(17, .captured, booked: 350)))
    journal.apply(.charge(record(17, .refunding, booked: 350)))
    journal.apply(.charge(record(17, .refunded, booked: 350)))
    journal.apply(.charge(record(18, .captured, booked: 200)))
    #expect((journal.day.captured, journal.day.refunded, journal.day.count) == (550, 350, 2))
    journal.apply(.closing(1))
    #expect(journal.closing == 1)
    let total = endOfDay(1, journal.day, net: 200)
    #expect(!total.isDifferent)
    journal.apply(.total(total))
    #expect(journal.day.captured == 0 && journal.closing == nil)
  }

  @Test func aShortenedJournalIsEqual() {
    var journal = ChargeJournal()
    journal.apply(.charge(record(5, .unknown)))
    for charge in 6...3_000 {
      journal.apply(.charge(record(charge, .captured, booked: 1, receipt: charge)))
    }
    journal.apply(.charge(record(3_001, .held)))
    #expect(journal.records.count < 2_100)
    var again = ChargeJournal()
    for entry in journal.shortened { again.apply(entry) }
    #expect(again.records == journal.records)
    #expect((again.day, again.last) == (journal.day, journal.last))
    #expect(again.open.map(\.charge) == [5, 3_001])
  }
}

extension ChargeRequest {
  init(
    charge: Int, ticket: Int = 0, amount: Money, text: String = "", paySeconds: Int = 45,
    readySeconds: Int = 0
  ) {
    self.init(
      charge: charge, ticket: ticket, panel: "p1", juice: "kiwi", quantity: 1, amount: amount,
      language: .english, text: text, paySeconds: paySeconds, readySeconds: readySeconds)
  }
}
