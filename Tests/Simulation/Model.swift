/// What a kiosk must do, written from the contract and not from the code: recipes, stock, service
/// and tickets. It is told which command comes next, and says what must become of it.
struct Model {
  static let initial = 10
  /// In seconds.
  static let maximumAge = 30

  enum Outcome: Hashable, CustomStringConvertible {
    case ready(used: [String: Int], day: Int, ticket: Int)
    case outOfStock(missing: [String: Int])
    /// Fruits that are new.
    case opened([String: Int])
    case restocked([String: Int])
    case service(isOpen: Bool)
    case rejected(String)

    var description: String {
      func text(_ amounts: [String: Int]) -> String {
        amounts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
      }
      return switch self {
      case .ready(let used, let day, let ticket):
        "ready, ticket \(ticket) of day \(day), used \(text(used))"
      case .outOfStock(let missing): "out of stock, missing \(text(missing))"
      case .opened(let fruits): "opened \(text(fruits))"
      case .restocked(let changes): "restocked \(text(changes))"
      case .service(let isOpen): isOpen ? "open" : "closed"
      case .rejected(let reason): "rejected, \(reason)"
      }
    }
  }

  /// The rules of now.
  var house = House.usual
  /// Of all fruits that the kiosk has ever had.
  private(set) var stock = [
    "strawberry": initial, "banana": initial, "pineapple": initial, "kiwi": initial,
    "mango": initial,
  ]
  private(set) var isOpen = true
  /// How many orders were made on each day.
  private var made: [Int: Int] = [:]

  /// What is on the menu.
  var shown: [String: Int] { stock.filter { house.fruits.contains($0.key) } }

  /// Fruits that the kiosk has not had before start with what the configuration says.
  ///
  /// - Returns: whether it is these fruits, and all of them.
  mutating func open(_ fruits: [String: Int], by house: House) -> Bool {
    let new = house.fruits.filter { stock[$0] == nil }
    stock.merge(fruits) { old, _ in old }
    return fruits == Dictionary(uniqueKeysWithValues: new.map { ($0, Self.initial) })
  }

  /// How many glasses of a juice there is fruit for.
  func servings(of juice: String) -> Int {
    (house.recipes[juice] ?? [:]).map { stock[$0.key, default: 0] / $0.value }.min() ?? 0
  }

  /// What may become of a command that is decided on at `now`, in milliseconds since 1970: one thing,
  /// or, where several rules forbid it, a rejection for one of these reasons.
  mutating func decide(
    _ sending: Sending, sentAt: Int64?, expected: Int?, wasRetained: Bool, at now: Int64
  ) -> [Outcome] {
    var reasons: [String] = []
    if wasRetained { reasons.append("retained") }
    if let sentAt, now - sentAt > Int64(Self.maximumAge) * 1000 { reasons.append("stale") }
    let outcome: Outcome
    switch sending.wish {
    case .order(let juice, let quantity):
      if !isOpen { reasons.append("closed") }
      if !(1...house.maximumQuantity).contains(quantity) { reasons.append("quantity_out_of_range") }
      if house.recipes[juice] == nil { reasons.append("unknown_juice") }
      outcome = order(juice, max(1, quantity), at: now)
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
      // What is above a capacity that was lowered may still become less.
      if after > house.capacity, after > held ?? 0 { reasons.append("exceeds_capacity") }
      outcome = .restocked([fruit: after - (held ?? 0)].filter { $0.value != 0 })
    case .service(let wish):
      outcome = .service(isOpen: wish)
    case .junk:
      reasons.append("malformed")
      outcome = .rejected("malformed")
    }
    guard reasons.isEmpty else { return reasons.map { .rejected($0) } }
    apply(outcome)
    return [outcome]
  }

  private func order(_ juice: String, _ quantity: Int, at now: Int64) -> Outcome {
    let needed = (house.recipes[juice] ?? [:]).mapValues { $0 * quantity }
    let missing = needed.filter { $0.value > stock[$0.key, default: 0] }
      .reduce(into: [String: Int]()) { $0[$1.key] = $1.value - stock[$1.key, default: 0] }
    guard missing.isEmpty else { return .outOfStock(missing: missing) }
    let day = Int((Double(now) / 86_400_000).rounded(.down))
    return .ready(used: needed, day: day, ticket: made[day, default: 0] + 1)
  }

  private mutating func apply(_ outcome: Outcome) {
    switch outcome {
    case .ready(let used, let day, let ticket):
      for (fruit, amount) in used { stock[fruit, default: 0] -= amount }
      made[day] = ticket
    case .restocked(let changes):
      for (fruit, amount) in changes { stock[fruit, default: 0] += amount }
    case .service(let isOpen):
      self.isOpen = isOpen
    case .opened, .outOfStock, .rejected:
      break
    }
  }
}
