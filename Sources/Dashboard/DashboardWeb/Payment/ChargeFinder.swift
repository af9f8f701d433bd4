import Fleet
import JuiceDomain
import KioskProtocol

/// Searches all charges in a kiosk's ledger.
struct ChargeFinder {
  /// The result of a search.
  struct Outcome {
    /// The matching charges, the newest first.
    var found: [ListedCharge] = []
    /// Number of charges that were searched.
    var count = 0
    /// The number of the charge before which the search continues, or `nil` if all were searched.
    var next: Int?
  }

  /// Maximum number of pages that one search requests, and of the charges that it returns.
  private static let (maximumPages, maximumFound) = (100, 20)

  let link: KioskLink
  let kiosk: KioskID
  let search: ChargeSearch

  /// Requests pages until there are enough charges, or until the charges are older than the day of the
  /// search.
  ///
  /// - Returns: `nil` if the kiosk has not answered.
  func charges(before: Int?) async -> Outcome? {
    var outcome = Outcome(next: search.charge.map { $0 + 1 } ?? before)
    for number in 0..<Self.maximumPages {
      let request = ChargesRequest(id: .random, before: outcome.next)
      guard let page = try? await link.ask(request, of: kiosk) else {
        return number == 0 ? nil : outcome
      }
      let charges = ListedCharge.charges(in: page.entries)
      outcome.count += charges.count
      // A charge that is sought by its number is on the first page.
      outcome.next = search.charge == nil ? page.next : nil
      for charge in charges where search.matches(charge) {
        guard outcome.found.count < Self.maximumFound else {
          outcome.next = charge.number + 1
          return outcome
        }
        outcome.found.append(charge)
      }
      let days = page.entries.map { search.localTime.date(of: $0.at).daysSinceEpoch }
      if let day = search.day, let oldest = days.min(), oldest < day.daysSinceEpoch - 1 {
        outcome.next = nil
      }
      if outcome.next == nil { break }
    }
    return outcome
  }
}
