package import JuiceDomain
package import KioskMessages

/// One trip to some kiosks: what was planned, and what became of it at each of them.
package struct Round: Hashable, Sendable, Identifiable {
  package typealias ID = Identifier<Round>

  /// So many kiosks are in one round at most.
  package static let maximumKiosks = 100

  package let id: ID
  package let madeAt: Timestamp
  /// The user who has made it.
  package let madeBy: String
  package let plan: RoundPlan
  /// In which its times are shown, as the IANA database calls it; `nil`: UTC.
  package let timeZone: String?
  package var sheets: [Sheet]

  package init(
    id: ID, madeAt: Timestamp, madeBy: String, plan: RoundPlan, timeZone: String?, sheets: [Sheet]
  ) {
    self.id = id
    self.madeAt = madeAt
    self.madeBy = madeBy
    self.plan = plan
    self.timeZone = timeZone
    self.sheets = sheets
  }

  /// What is planned for a fruit of a kiosk.
  package struct Line: Hashable, Sendable {
    package let fruit: Fruit
    /// When the round was made.
    package let now: Int
    /// What is expected to be there on arrival.
    package let expected: Int
    package let bring: Int
    /// `false`: there was no forecast, and what is there now is expected.
    package let isForecast: Bool

    package init(fruit: Fruit, now: Int, expected: Int, bring: Int, isForecast: Bool) {
      self.fruit = fruit
      self.now = now
      self.expected = expected
      self.bring = bring
      self.isForecast = isForecast
    }
  }

  /// What is planned for a kiosk, and what was done there.
  package struct Sheet: Hashable, Sendable {
    package let kiosk: KioskID
    /// As they were when the round was made.
    package let name: LocalizedName?
    package let place: String?
    package let wasOnline: Bool
    package let lines: [Line]
    /// The id of the restock that this sheet becomes. Another one follows only when nothing has come
    /// of it, so that the sheet is done once, however often it is sent.
    package internal(set) var command: Request.ID
    /// The latest attempt.
    package internal(set) var visit: Visit?

    package init(
      kiosk: KioskID, name: LocalizedName?, place: String?, wasOnline: Bool, lines: [Line],
      command: Request.ID
    ) {
      self.kiosk = kiosk
      self.name = name
      self.place = place
      self.wasOnline = wasOnline
      self.lines = lines
      self.command = command
    }

    package func title(_ language: Language) -> String { name?[language] ?? kiosk.text }

    package func line(of fruit: Fruit.ID) -> Line? { lines.first { $0.fruit.id == fruit } }
  }

  /// What somebody has filled in and confirmed at a kiosk.
  package struct Visit: Hashable, Sendable {
    package let command: Request.ID
    /// The user in whose name it is sent.
    package let user: String
    package let at: Timestamp
    /// More than nothing, or less, of each fruit.
    package let brought: FruitAmounts
    package let counted: FruitAmounts
    /// What the ledger said of the counted fruits: the kiosk changes nothing if it says something else.
    package let ledger: FruitAmounts
    package var outcome: Outcome

    package init(
      command: Request.ID, user: String, at: Timestamp, brought: FruitAmounts,
      counted: FruitAmounts, ledger: FruitAmounts, outcome: Outcome = .unknown
    ) {
      self.command = command
      self.user = user
      self.at = at
      self.brought = brought
      self.counted = counted
      self.ledger = ledger
      self.outcome = outcome
    }

    package enum Outcome: Hashable, Sendable {
      /// The kiosk has not answered; it may have done it. To send it again is safe.
      case unknown
      case applied
      /// Nothing has happened.
      /// - Parameter stock: what the kiosk says is there instead of what was expected.
      case rejected(RejectionReason, detail: String, stock: FruitAmounts)
    }

    package var restock: Restock { Restock(add: brought, set: counted, expect: ledger) }

    package var isDone: Bool { outcome == .applied }

    /// What the ledger said that is there, less what was: positive if fruit is missing.
    package var missing: FruitAmounts {
      FruitAmounts(
        counted.compactMap { fruit, count in ledger[fruit].map { (fruit, $0 - count) } })
    }

    /// Whether it says the same, whoever says it when.
    package func saysTheSame(as other: Visit) -> Bool {
      (brought, counted, ledger) == (other.brought, other.counted, other.ledger)
    }
  }

  package subscript(kiosk: KioskID) -> Sheet? {
    get { sheets.first { $0.kiosk == kiosk } }
    set {
      guard let newValue, let index = sheets.firstIndex(where: { $0.kiosk == kiosk }) else {
        return
      }
      sheets[index] = newValue
    }
  }

  /// Whether somebody has confirmed a sheet.
  package var isBegun: Bool { sheets.contains { $0.visit != nil } }
}

extension Round.Sheet {
  /// What is to be done with a sheet that comes in.
  package enum Step: Hashable, Sendable {
    /// To be sent to the kiosk, when the round is kept.
    case send(Round.Visit)
    /// It was answered before.
    case answered(Round.Visit)
    /// It was filled in on a page from before a rejection.
    case outdated
  }

  /// Takes in a sheet that somebody has confirmed.
  ///
  /// What was sent once under an id stays what is sent under it, in the name of who has sent it first:
  /// a kiosk does an id of one source once.
  package mutating func confirm(_ new: Round.Visit) -> Step {
    if let visit, visit.command == new.command {
      return visit.outcome == .unknown ? .send(visit) : .answered(visit)
    }
    guard new.command == command else { return .outdated }
    visit = new
    return .send(new)
  }

  /// Takes in what the kiosk has answered.
  ///
  /// - Parameters:
  ///   - result: `nil` if there was no answer.
  ///   - next: the id of another attempt.
  package mutating func settle(_ id: Request.ID, _ result: CommandResult?, next: Request.ID) {
    guard let visit, visit.command == id, visit.outcome == .unknown, let result else { return }
    switch (result.status, result.reason) {
    case (.applied, _): self.visit?.outcome = .applied
    // An earlier copy may have been done.
    case (_, .rateLimited): break
    case (_, let reason?):
      self.visit?.outcome = .rejected(
        reason, detail: result.detail ?? "", stock: result.stock ?? [:])
      command = next
    default: break
    }
  }

  /// What the kiosk tells of its restocks settles what nobody has heard the answer of.
  ///
  /// - Returns: whether it does.
  package mutating func settle(by kiosk: KioskState) -> Bool {
    guard let visit, visit.outcome == .unknown else { return false }
    let isDone = kiosk.services.contains { entry in
      guard case .restocked = entry.outcome else { return false }
      return entry.id == visit.command && entry.source?.name == visit.user
    }
    if isDone { self.visit?.outcome = .applied }
    return isDone
  }
}
