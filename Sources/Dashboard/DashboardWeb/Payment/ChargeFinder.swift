import Fleet
import JuiceDomain
import KioskProtocol

/// Searches all charges in a kiosk's ledger.
struct ChargeFinder {
  /// The result of a search.
  struct Outcome {
    /// The steps of the matching charges, the newest charge first.
    var found: [LedgerEntry] = []
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
    var outcome = Outcome(next: before)
    for number in 0..<Self.maximumPages {
      let request = ChargesRequest(id: .random, before: outcome.next)
      guard let page = try? await link.ask(request, of: kiosk) else {
        return number == 0 ? nil : outcome
      }
      let captures = page.entries.filter { $0.status == .captured }
      outcome.count += captures.count
      outcome.next = page.next
      let matching = Set(page.entries.filter(search.matches).compactMap(\.charge))
      for charge in captures.compactMap(\.charge) where matching.contains(charge) {
        guard outcome.found.count(where: { $0.status == .captured }) < Self.maximumFound else {
          outcome.next = charge + 1
          return outcome
        }
        outcome.found += page.entries.filter { $0.charge == charge }
      }
      let days = captures.map { search.localTime.date(of: $0.at).daysSinceEpoch }
      if let day = search.day, let oldest = days.min(), oldest < day.daysSinceEpoch - 1 {
        outcome.next = nil
      }
      if outcome.next == nil { break }
    }
    return outcome
  }
}
