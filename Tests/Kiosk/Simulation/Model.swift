import JuiceDomain
import KioskProtocol

/// The expected behavior of a kiosk, written from the contract and not from the code: recipes,
/// stock, service, tickets. For each command, it returns the outcomes that the contract permits.
///
/// ```swift
/// var model = Model()
/// let press = Sending(from: "order/p1", content: .order(juice: "banana", quantity: 1))
/// let outcomes = model.outcomes(
///   of: press, sentAt: nil, expected: nil, wasRetained: false, with: Model.Work(), at: 0)
/// // [.ready(used: ["banana": 2], day: 0, ticket: 1)]
/// model.apply(outcomes[0])  // 8 of 10 bananas are left
/// ```
struct Model {
  static let initial = 10
  /// Maximum age of an order, in seconds.
  static let maximumAge = 30

  enum Outcome: Hashable, CustomStringConvertible {
    case ready(used: [String: Int], day: Int, ticket: Int)
    case accepted(used: [String: Int], day: Int, ticket: Int, machine: String, place: Int)
    case made(job: Int)
    case failed(job: Int, reason: String, changes: [String: Int])
    case returned(job: Int, reason: String, changes: [String: Int])
    case decided(String, job: Int, used: [String: Int])
    case awaitingPayment(
      used: [String: Int], day: Int, ticket: Int, charge: Int, device: String)
    /// A step of a payment.
    case payment(String, charge: Int, job: Int?, machine: String?)
    case program(ProgramStep)
    case total(Int, device: String, difference: Int?)
    case sensor(String, changes: [String: Int])
    case outOfStock(missing: [String: Int])
    /// The initial stock of new fruits.
    case opened([String: Int])
    case restocked([String: Int])
    case expired([String: Int])
    case removed(stock: [String: Int], expired: [String: Int])
    case service(isOpen: Bool)
    case rejected(String)

    var description: String {
      func text(_ amounts: [String: Int]) -> String {
        amounts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
      }
      return switch self {
      case .ready(let used, let day, let ticket):
        "ready, ticket \(ticket) of day \(day), used \(text(used))"
      case .accepted(let used, let day, let ticket, let machine, let place):
        "accepted by \(machine), place \(place), ticket \(ticket) of day \(day), used \(text(used))"
      case .made(let job): "job \(job) is made"
      case .failed(let job, let reason, let changes):
        "job \(job) has failed, \(reason): \(text(changes))"
      case .returned(let job, let reason, let changes):
        "job \(job) is returned, \(reason): \(text(changes))"
      case .decided(let choice, let job, let used):
        "of job \(job) a person decides \(choice), used \(text(used))"
      case .awaitingPayment(let used, let day, let ticket, let charge, let device):
        "to be paid at \(device), charge \(charge), ticket \(ticket) of day \(day), used \(text(used))"
      case .payment(let kind, let charge, _, let machine):
        "charge \(charge) \(kind)\(machine.map { ", for \($0)" } ?? "")"
      case .program(let step):
        "\(step.kind.rawValue) of \(step.id), job \(step.job ?? 0), \(step.reason ?? "")"
      case .total(let total, let device, let difference):
        "total \(total) of \(device), difference \(difference.map(String.init) ?? "nil")"
      case .sensor(let kind, let changes): "\(kind), \(text(changes))"
      case .outOfStock(let missing): "out of stock, missing \(text(missing))"
      case .opened(let fruits): "opened \(text(fruits))"
      case .restocked(let changes): "restocked \(text(changes))"
      case .expired(let changes): "expired \(text(changes))"
      case .removed(let stock, let expired):
        "taken out \(text(stock)), expired \(text(expired))"
      case .service(let isOpen): isOpen ? "open" : "closed"
      case .rejected(let reason): "rejected, \(reason)"
      }
    }
  }

  /// The state of machines at the time of a decision.
  struct Work {
    /// Whether a machine makes the ordered juice.
    var isNeeded = false
    /// The machines that may take the order, each with the possible places in its queue.
    var places: [String: ClosedRange<Int>] = [:]
    /// Whether all of them may be unable to work, or one only because it must be cleaned.
    var (mayBeDown, mayBeCleaning) = (false, false)
    /// Whether a sensor blocks fruit of the ordered juice.
    var isBlocked = SensorModel.Knowledge.no
    /// Whether it blocks one of the machines that make the juice, and whether it may.
    var (hasBlockedMaker, mayHaveBlockedMaker) = (false, false)
    /// Whether the job may need a person's decision, and whether it may not need one.
    var (mayNeedDecision, mayNotNeedDecision) = (false, true)
    /// The entry of the order that a decision is about.
    var job = 0
    /// Whether a person says that the attempt used up fruit that the order did not take.
    var isFlawed = false
    /// The fruit that another attempt takes.
    var cost: [String: Int] = [:]
    /// Whether the order must be paid, and the payment devices that may be able to work.
    var isPaid = false
    var devices: [String] = []
    /// Whether all of them may be unable to work.
    var mayLackDevice = false
    /// The number of the new charge.
    var charge = 0
    /// The amount of the fruit that has expired and is not taken out.
    var expired = 0
    /// The steps of a charge that a person may have decided, or the outcomes of a request to run a
    /// program.
    var steps: [Outcome] = []

    /// The outcomes of an order that no machine takes.
    fileprivate var withoutMachine: [Outcome] {
      let other: [Outcome] =
        (mayBeDown ? [.rejected("machine_down")] : [])
        + (mayBeCleaning ? [.rejected("cleaning_due")] : [])
      if other.isEmpty || !mayHaveBlockedMaker { return other }
      return (hasBlockedMaker ? [] : other) + [.rejected("blocked")]
    }
  }

  /// The configuration that is in force.
  var variant = ConfigurationVariant.usual
  /// The stock of all fruits that the kiosk has ever had.
  private(set) var stock = [
    "strawberry": initial, "banana": initial, "pineapple": initial, "kiwi": initial,
    "mango": initial,
  ]
  /// Whether a person has opened the kiosk.
  private(set) var isOpen = true
  /// Whether the kiosk has opening hours.
  var hasHours = false
  /// Number of orders made on each day.
  private var made: [Int: Int] = [:]

  /// The stock of the fruits on the menu.
  var shown: [String: Int] { stock.filter { variant.fruits.contains($0.key) } }

  /// Adds fruits that the kiosk has not had before: in a new ledger with the configured initial stock,
  /// later without any.
  ///
  /// - Returns: whether `fruits` are exactly the new fruits of `variant`.
  mutating func open(_ fruits: [String: Int], by variant: ConfigurationVariant) -> Bool {
    let new = variant.fruits.filter { stock[$0] == nil }
    let amount = stock.isEmpty ? Self.initial : 0
    stock.merge(fruits) { old, _ in old }
    return fruits == Dictionary(uniqueKeysWithValues: new.map { ($0, amount) })
  }

  /// Returns the number of glasses of a juice for which the stock suffices.
  func servings(of juice: String) -> Int {
    (variant.recipes[juice] ?? [:]).map { stock[$0.key, default: 0] / $0.value }.min() ?? 0
  }

  /// Returns the permitted outcomes of a command: one outcome or, if several rules forbid it, a
  /// rejection for any of these reasons.
  ///
  /// - Parameter now: the time of the decision, in milliseconds since 1970.
  func outcomes(
    of sending: Sending, sentAt: Int64?, expected: Int?, wasRetained: Bool, with work: Work,
    at now: Int64
  ) -> [Outcome] {
    var reasons: [String] = []
    var maybe: [Outcome] = []
    if wasRetained { reasons.append("retained") }
    if let sentAt, now - sentAt > Int64(Self.maximumAge) * 1000 { reasons.append("stale") }
    let outcome: Outcome
    switch sending.content {
    case .order(let juice, let quantity):
      if !isOpen || hasHours && !HoursModel.isOpen(at: now) { reasons.append("closed") }
      if !(1...variant.maximumQuantity).contains(quantity) {
        reasons.append("quantity_out_of_range")
      }
      if variant.recipes[juice] == nil { reasons.append("unknown_juice") }
      if work.isBlocked == .yes { reasons.append("blocked") }
      if work.isBlocked == .maybe { maybe.append(.rejected("blocked")) }
      outcome = order(juice, max(1, quantity), at: now)
      if work.isPaid {
        return maybe + reasons.map { .rejected($0) } + paid(outcome, reasons, work)
      }
      if work.isNeeded {
        return maybe + reasons.map { .rejected($0) } + accepted(outcome, reasons, work)
      }
    case .decide(let choice, _, _):
      let isShort = work.cost.contains { $0.value > shown[$0.key, default: 0] }
      let isAgain = choice == "again"
      if work.mayNotNeedDecision { reasons.append("no_decision_needed") }
      if work.mayNeedDecision, work.isFlawed { reasons.append("malformed") }
      if work.mayNeedDecision, !work.isFlawed, isAgain, isShort { reasons.append("conflict") }
      outcome = .decided(choice, job: work.job, used: isAgain ? work.cost : [:])
      let isForbidden = reasons.contains { $0 != "no_decision_needed" } || !work.mayNeedDecision
      return reasons.map { .rejected($0) } + (isForbidden ? [] : [outcome])
    case .run: return reasons.isEmpty ? work.steps : reasons.map { .rejected($0) }
    case .settle, .judge:
      let isForbidden = !reasons.isEmpty
      if work.mayNotNeedDecision { reasons.append("no_decision_needed") }
      return reasons.map { .rejected($0) } + (isForbidden ? [] : work.steps)
    case .restock(let fruit, let change, _):
      let held = shown[fruit]
      if held == nil { reasons.append("unknown_fruit") }
      if let expected, let held, expected != held { reasons.append("conflict") }
      let after: Int
      switch change {
      case .add(let amount): after = (held ?? 0) + amount
      case .set(let amount): after = amount
      }
      if after < 0 { reasons.append("below_zero") }
      // A stock above a lowered capacity may still decrease.
      if after > variant.capacity, after > held ?? 0 { reasons.append("exceeds_capacity") }
      outcome = .restocked([fruit: after - (held ?? 0)].filter { $0.value != 0 })
    case .bring(let fruit, let amount, _):
      if Int64(expected ?? 0) <= now { reasons.append("expired") }
      let held = shown[fruit]
      if held == nil { reasons.append("unknown_fruit") }
      if (held ?? 0) + amount > variant.capacity { reasons.append("exceeds_capacity") }
      outcome = .restocked([fruit: amount])
    case .remove(let fruit, let amount?):
      if shown[fruit] == nil, work.expired == 0 { reasons.append("unknown_fruit") }
      if amount > shown[fruit, default: 0] { reasons.append("below_zero") }
      outcome = .removed(stock: [fruit: amount], expired: [:])
    case .remove(let fruit, nil):
      if shown[fruit] == nil, work.expired == 0 { reasons.append("unknown_fruit") }
      if expected != work.expired { reasons.append("conflict") }
      outcome = .removed(stock: [:], expired: [fruit: expected ?? 0])
    case .service(let content):
      outcome = .service(isOpen: content)
    case .junk:
      reasons.append("malformed")
      outcome = .rejected("malformed")
    }
    return maybe + (reasons.isEmpty ? [outcome] : reasons.map { .rejected($0) })
  }

  /// Returns the permitted outcomes of an order for a juice that machines make.
  private func accepted(_ outcome: Outcome, _ reasons: [String], _ work: Work) -> [Outcome] {
    let down = work.withoutMachine
    guard reasons.isEmpty, !work.places.isEmpty else { return down }
    guard case .ready(let used, let day, let ticket) = outcome else { return down + [outcome] }
    return down
      + work.places.flatMap { machine, places in
        places.map {
          .accepted(used: used, day: day, ticket: ticket, machine: machine, place: $0)
        }
      }
  }

  /// Returns the permitted outcomes of an order that must be paid.
  private func paid(_ outcome: Outcome, _ reasons: [String], _ work: Work) -> [Outcome] {
    var outcomes = work.isNeeded ? work.withoutMachine : []
    guard reasons.isEmpty, !work.isNeeded || !work.places.isEmpty else { return outcomes }
    if work.mayLackDevice { outcomes.append(.rejected("payment_down")) }
    guard case .ready(let used, let day, let ticket) = outcome else {
      return outcomes + (work.devices.isEmpty ? [] : [outcome])
    }
    return outcomes
      + work.devices.map {
        .awaitingPayment(used: used, day: day, ticket: ticket, charge: work.charge, device: $0)
      }
  }

  /// Returns the number of days since 1970 at a time in milliseconds.
  static func day(at now: Int64) -> Int { Int((Double(now) / 86_400_000).rounded(.down)) }

  private func order(_ juice: String, _ quantity: Int, at now: Int64) -> Outcome {
    let needed = (variant.recipes[juice] ?? [:]).mapValues { $0 * quantity }
    let missing = needed.filter { $0.value > stock[$0.key, default: 0] }
      .reduce(into: [String: Int]()) { $0[$1.key] = $1.value - stock[$1.key, default: 0] }
    guard missing.isEmpty else { return .outOfStock(missing: missing) }
    let day = Self.day(at: now)
    return .ready(used: needed, day: day, ticket: made[day, default: 0] + 1)
  }

  mutating func apply(_ outcome: Outcome) {
    switch outcome {
    case .ready(let used, let day, let ticket), .accepted(let used, let day, let ticket, _, _),
      .awaitingPayment(let used, let day, let ticket, _, _):
      for (fruit, amount) in used { stock[fruit, default: 0] -= amount }
      made[day] = ticket
    case .decided(_, _, let used):
      for (fruit, amount) in used { stock[fruit, default: 0] -= amount }
    case .removed(let used, _):
      for (fruit, amount) in used { stock[fruit, default: 0] -= amount }
    case .restocked(let changes), .expired(let changes), .failed(_, _, let changes),
      .returned(_, _, let changes), .sensor(_, let changes):
      for (fruit, amount) in changes { stock[fruit, default: 0] += amount }
    case .program(let step):
      for (fruit, amount) in step.changes { stock[fruit.text, default: 0] += amount }
    case .service(let isOpen):
      self.isOpen = isOpen
    case .opened, .outOfStock, .rejected, .made, .payment, .total:
      break
    }
  }
}
