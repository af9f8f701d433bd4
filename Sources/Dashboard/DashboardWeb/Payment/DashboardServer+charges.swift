import CommandLineSupport
import Fleet
import Hummingbird
import JuiceDomain
import KioskProtocol

extension DashboardServer {
  /// Maximum number of pages of charges that a table requests from the kiosk.
  private static let maximumPages = 100

  /// Adds the table `charges`: a row for each step of each charge in a kiosk's ledger, the newest charge
  /// first. If the kiosk does not answer, the table has the charges that it has published.
  ///
  /// - Parameter router: The group of a kiosk's path.
  func addCharges(to router: RouterGroup<PageContext>) {
    addTable("charges", to: router) { context in
      let kiosk = try kiosk(context)
      let localTime = LocalTime(kiosk.timeZone, now: link.time, context.language)
      var page =
        kiosk.isOnline ? try? await link.ask(ChargesRequest(id: .random), of: kiosk.id) : nil
      var entries = page?.entries ?? PaymentCards.published(of: kiosk)
      for _ in 1..<Self.maximumPages {
        guard let next = page?.next else { break }
        page = try? await link.ask(ChargesRequest(id: .random, before: next), of: kiosk.id)
        entries += page?.entries ?? []
      }
      var rows = entries.compactMap { $0.chargeRow(localTime) }
      // The whole ledger was read if the last page names no next one.
      if page == nil || page?.next != nil {
        let note = "older charges are missing: see juice-kiosk report --charges"
        rows.append(
          ["", "", "", "incomplete"] + Array(repeating: "", count: Self.chargeHeader.count - 5)
            + [.text(note)])
      }
      return ExportTable("charges-\(kiosk.id)", Self.chargeHeader, rows: rows)
    }
  }

  fileprivate static let chargeHeader: ExportTable.Row = [
    "charge", "local_day", "time_utc", "status", "ticket", "juice", "quantity", "amount",
    "currency", "device", "card", "last4", "receipt", "trace", "who", "reason",
  ]
}

extension LedgerEntry {
  /// Returns the entry as a row of the table of charges, or `nil` if it is about no charge.
  fileprivate func chargeRow(_ localTime: LocalTime) -> ExportTable.Row? {
    guard let charge else { return nil }
    let receipt = outcome.payment?.receipt
    return [
      .number(charge), .day(localTime.date(of: at)), .time(at), .text(status.rawValue),
      .number(ticket?.number), .text(outcome.order?.juice.text ?? ""),
      .number(outcome.order?.quantity), .number(amount?.text ?? ""),
      .text(amount?.currency.code ?? ""), .text(outcome.device?.text ?? ""),
      .text(receipt?.card ?? ""), .text(receipt?.last4 ?? ""), .text(receipt?.receipt ?? ""),
      .text(receipt?.trace ?? ""),
      .text(source?.description ?? "kiosk"), .text(outcome.payment?.reason ?? ""),
    ]
  }
}
