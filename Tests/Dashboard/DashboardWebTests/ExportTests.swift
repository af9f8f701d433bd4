import CommandLineSupport
import Fleet
import Foundation
import JuiceDomain
import KioskProtocol
import MessageBroker
import TestSupport
import Testing

@testable import DashboardWeb

@Suite struct ExportTests {
  @Test(
    arguments: [
      ("plain", "plain"), ("<b>a</b><span class=\"x\">b</span>", "a b"),
      ("  <time datetime=\"1\">9:00</time>\n – ", "9:00 –"),
      ("&lt;b&gt; &amp;amp; &quot;x&quot; &#39;", "<b> &amp; \"x\" '"), ("", ""),
    ] as [(HTML, String)])
  func theTextOfMarkupIsWhatABrowserShows(html: HTML, text: String) {
    #expect(html.plainText == text)
  }

  @Test(arguments: [WorkbookWriter.maximumRows, WorkbookWriter.maximumRows + 1])
  func aWorkbookHasALimitedNumberOfRows(count: Int) async throws {
    let table = ExportTable(
      "t", ["a"],
      [
        { Array(repeating: [.number("1")], count: count - 1) }, { [[.text("x")]] },
      ])
    let writer = WorkbookWriter()
    if count > WorkbookWriter.maximumRows {
      await #expect(throws: RequestError.self) { try await writer.workbook(of: table) }
    } else {
      #expect(try await writer.workbook(of: table).starts(with: Array("PK".utf8)))
    }
  }

  /// A cell that a spreadsheet cannot store is shortened, or becomes a text.
  @Test func whatDoesNotFitIntoACellIsNoError() async throws {
    let row: ExportTable.Row = [
      .text(String(repeating: "쥬", count: 40_000)),
      .text(String(repeating: "e\u{301}\u{302}👨‍👩‍👧‍👦", count: 8_000)), .number("1234567890123456"),
      .number("x"), .number("nan"), .number("inf"),
      .number(""), .number("-0.5"), .day(CivilDate(daysSinceEpoch: -40_000)),
      .time(Timestamp(milliseconds: .max)), .text("=1+1\u{0}\n"),
    ]
    let table = ExportTable("t", ["a"], rows: [row])
    #expect(try await WorkbookWriter().workbook(of: table).count > 1_000)
  }

  /// The table of charges has those of all pages of the ledger, or says that older ones are missing.
  @Test(arguments: [true, false])
  func theTableOfChargesIsWholeOrSaysThatItIsNot(isOnline: Bool) async throws {
    @Sendable func entry(_ charge: Int) -> LedgerEntry {
      let step = PaymentStep(
        .captured, charge: charge, device: "till", job: 3, order: Order(juice: "kiwi"),
        ticket: Ticket(day: 20_778, number: 7), receipt: Receipt(last4: "0034"))
      return LedgerEntry(
        seq: charge, epoch: 1, at: Scene.time, source: nil, id: nil, outcome: .payment(step),
        amount: Money("3.50", .euro))
    }
    try await Scene.run { scene in
      try await scene.authenticate("vera")
      try await scene.kiosk("status", Array((isOnline ? "online" : "offline").utf8))
      try await scene.kiosk("events", entry(9).payload, retain: false)
      async let answer = scene.get("/kiosks/k1/charges.csv")
      for (before, next) in isOnline ? [(nil, 8), (8, nil)] as [(Int?, Int?)] : [] {
        let request = try ChargesRequest(payload: try await scene.nextCommand().payload)
        #expect(request.before == before)
        let page = ChargePage(id: request.id, entries: [entry(next ?? 1)], next: next)
        try await scene.kiosk("report/dashboard/result", page.payload, retain: false)
      }
      let lines = try await answer.text.split(separator: "\r\n").map { String($0) }
      #expect(
        lines.map { $0.prefix { $0 != "," } }.dropFirst() == (isOnline ? ["8", "1"] : ["9", ""]))
      #expect(lines[1].contains(",captured,7,kiwi,1,3.50,EUR,till,,0034,,,kiosk,"))
      #expect(lines[2].contains("older charges are missing") == !isOnline)
    }
  }
}
