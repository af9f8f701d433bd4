import JuiceDomain
import KioskProtocol
import Ledger
import MessageBroker
import Testing

@testable import KioskCore

/// Prices in answers and in the ledger.
@Suite struct PriceTests {
  /// - Parameters:
  ///   - kiwi: The price of a kiwi juice. Banana juice is free, and the others have no price.
  ///   - isPoured: Whether a machine makes kiwi juice.
  private func settings(kiwi: String, isPoured: Bool = false) throws -> KioskSettings {
    let euro = try #require(Currency("EUR"))
    let prices = ["kiwi": try #require(Money(kiwi, euro)), "banana": Money(units: 0, euro)]
    let menu = Menu.standard
    var settings = KioskSettings.test(
      menu: try Menu(
        fruits: menu.fruits,
        juices: menu.juices.map {
          Juice(id: $0.id, name: $0.name, recipe: $0.recipe, price: prices[$0.id.text])
        }))
    if isPoured { settings.machines = [KioskSettings.Machine(name: "bar", juices: ["kiwi"])] }
    return settings
  }

  /// Returns the rows of the ledger as answers.
  private func told(_ kiosk: TestKiosk) throws -> [String] {
    try kiosk.ledger.rows(after: 1).map { text($0.row.result.payload) }
  }

  @Test func anAnswerTellsWhatTheGlassesCost() throws {
    let kiosk = try TestKiosk(settings: try settings(kiwi: "3.50"))
    let decision = try kiosk.receive(
      .order(#"{"juice":"kiwi","quantity":2}"#), .order("banana"), .order("mango"),
      .order(#"{"juice":"kiwi","quantity":9}"#), .order("tea"))
    #expect(
      try decision.results.map { $0.amount?.description } == [
        "7.00 EUR", "0.00 EUR", nil, nil, nil,
      ])
    #expect(
      text(decision.answers[0].payload).contains(
        #""quantity":2,"amount":"7.00","currency":"EUR","used":{"kiwi":6}"#))
    #expect(try told(kiosk) == decision.answers.map { text($0.payload) })
    #expect(decision.events.map { $0.amount?.units } == [700, 0, nil, nil, nil])
  }

  @Test func whatIsMadeLaterCostsWhatItDidWhenItWasOrdered() throws {
    let kiosk = try TestKiosk(settings: try settings(kiwi: "3.50", isPoured: true))
    try kiosk.receive(.message("online", on: "machine/bar/status"))
    let order = Delivery.order(#"{"id":"a1","juice":"kiwi"}"#)
    let accepted = try kiosk.receive(order)
    #expect(try accepted.results.map { $0.amount?.text } == ["3.50"])
    try kiosk.reload(try settings(kiwi: "4.00", isPoured: true))
    try kiosk.restart()
    let done = try kiosk.receive(.message(#"{"job":2,"status":"done"}"#, on: "made/bar"))
    #expect(try done.results.map { $0.amount?.text } == ["3.50"])
    #expect(try kiosk.receive(order).results.map { $0.amount?.text } == ["3.50"])
    #expect(try kiosk.receive(.order("kiwi")).results.map { $0.amount?.text } == ["4.00"])
    #expect(try kiosk.ledger.verify() == 4)
  }

  @Test func whatIsNotMadeCostsNothing() throws {
    let kiosk = try TestKiosk(settings: try settings(kiwi: "3.50", isPoured: true))
    try kiosk.receive(.message("online", on: "machine/bar/status"))
    try kiosk.receive(.order("kiwi"))
    let failed = try kiosk.receive(
      .message(#"{"job":2,"status":"failed","reason":"jam"}"#, on: "made/bar"))
    #expect(try failed.results.map(\.status) == [.failed])
    #expect(try failed.results.map(\.amount) == [nil])
    #expect(try kiosk.ledger.rows(after: 2).map(\.row.entry.amount) == [nil])
  }

  @Test func withoutPricesNothingIsSaidOfMoney() throws {
    let kiosk = try TestKiosk()
    let decision = try kiosk.receive(.order("kiwi"))
    let payloads =
      decision.answers.map(\.payload) + decision.events.map(\.payload)
      + [kiosk.settings.menuReport.payload]
    for payload in payloads {
      #expect(!text(payload).contains("amount"))
      #expect(!text(payload).contains("currency"))
    }
  }
}

extension Decision {
  fileprivate var events: [LedgerEntry] { transaction.records.map(\.row.entry) }
}
