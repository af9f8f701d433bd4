package import JuiceDomain
package import KioskProtocol

/// The urgency of visiting a kiosk. The most urgent value is the smallest.
package enum Urgency: Int, Comparable, Sendable {
  /// The kiosk is offline.
  case offline
  /// The kiosk is open and can sell no juice.
  case noSales
  /// A machine, a payment device or a sensor needs a person, the disk is full, the clock is wrong,
  /// fruit has expired, or the menu of the chain cannot be used.
  case problem
  /// A juice cannot be sold, or a fruit is short.
  case out
  /// The kiosk is closed.
  case closed
  /// A fruit is low.
  case low
  case fine

  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension KioskState {
  package var urgency: Urgency {
    if !isOnline { return .offline }
    if sellsNothing { return .noSales }
    if needsAttention || isClockWrong || menuProblem != nil || disk?.freeSpace == .full {
      return .problem
    }
    if isShort { return .out }
    if service == .closed { return .closed }
    return alerts.values.contains(.low) ? .low : .fine
  }

  /// Whether a fruit is short, or a juice needs a person before it can be sold.
  package var isShort: Bool { !shortFruits.isEmpty || !lostJuices.isEmpty }

  /// Whether the clocks of the kiosk and of the dashboard differ by more than a minute.
  package var isClockWrong: Bool { clockLead > .seconds(60) || clockLead < .seconds(-60) }

  package var isDiskShort: Bool { disk.map { $0.freeSpace != .enough } ?? false }

  /// The fruit that is expected to run out first, with the time, or `nil` if none is. Omits the fruits
  /// that do not suffice for a glass already.
  package var nextStockout: (fruit: Fruit.ID, at: Timestamp)? {
    let short = shortFruits
    return forecast?.fruits
      .filter { !short.contains($0.key) }
      .compactMap { fruit, outlook in
        outlook.emptyAt.flatMap { outlook.stock > 0 ? (fruit: fruit, at: $0) : nil }
      }
      .min { ($0.at, $0.fruit) < ($1.at, $1.fruit) }
  }

  /// Returns the fruits with this alert, in the order of the menu, or by id without a menu.
  package func fruits(_ alert: StockAlert) -> [Fruit.ID] {
    let alerted = alerts.filter { $0.value == alert }.keys
    guard let menu else { return alerted.sorted() }
    return menu.menu.fruits.map(\.id).filter(alerted.contains)
  }
}

extension KioskFleet {
  /// Numbers of all kiosks, of those in each state, and of those with machines. Except in `out`, a
  /// kiosk counts only in its most urgent state. `soldToday` is a number of glasses.
  package struct Count: Hashable, Sendable {
    package var kiosks = 0
    package var offline = 0
    /// Kiosks that are online and have a problem.
    package var needingAttention = 0
    package var withMachines = 0
    /// Kiosks that are online and have a fruit that is short or a juice that cannot be sold.
    package var out = 0
    /// Kiosks whose urgency is at least `Urgency.out`.
    package var urgent = 0
    package var closed = 0
    package var low = 0
    package var soldToday = 0
  }

  package var count: Count {
    kiosks.reduce(into: Count()) { count, kiosk in
      count.kiosks += 1
      count.soldToday += kiosk.soldToday ?? 0
      if !kiosk.machines.isEmpty { count.withMachines += 1 }
      if kiosk.isOnline, kiosk.isShort { count.out += 1 }
      let urgency = kiosk.urgency
      if urgency <= .out { count.urgent += 1 }
      switch urgency {
      case .offline: count.offline += 1
      case .noSales, .problem: count.needingAttention += 1
      case .out: break
      case .closed: count.closed += 1
      case .low: count.low += 1
      case .fine: break
      }
    }
  }

  /// Returns the matching kiosks, those with the largest expected loss of sales first; then the most
  /// urgent, then by the expected time of the next stockout, then by name.
  ///
  /// The expected loss is the share of the juices that cannot be sold times the usual glasses a day;
  /// a kiosk without usual sales counts as the mean of the others.
  ///
  /// - Parameters:
  ///   - text: A word for a state; or a part of the kiosk's id, name or place, or of the name of a
  ///     machine, a juice or a fruit that has a problem.
  ///   - language: The language of the names to sort by.
  package func byUrgency(
    matching text: String = "", in language: Language = .english
  ) -> [KioskState] {
    let search = text.isEmpty ? nil : KioskSearch(text)
    let usual = kiosks.compactMap(\.usualGlasses)
    let mean = usual.isEmpty ? 1 : usual.reduce(0, +) / Double(usual.count)
    return
      kiosks.filter { search?.matches($0) ?? true }
      .map { kiosk in
        // Sorts only keys, because moving a state takes longer than a comparison.
        (
          loss: -kiosk.lostShare * (kiosk.usualGlasses ?? mean), urgency: kiosk.urgency,
          dry: kiosk.nextStockout?.at.milliseconds ?? .max,
          title: kiosk.title(language), id: kiosk.id
        )
      }
      .sorted(by: <)
      .compactMap { self[$0.id] }
  }
}

private struct KioskSearch {
  private let text: String
  /// The conditions of the states that have the text as one of their words.
  private let conditions: [@Sendable (KioskState) -> Bool]

  init(_ text: String) {
    self.text = text.lowercased()
    conditions = Self.states.filter { [text = self.text] in $0.words.contains(text) }.map(\.isMet)
  }

  func matches(_ kiosk: KioskState) -> Bool {
    isNamed(kiosk) || conditions.contains { $0(kiosk) } || isDescribed(kiosk)
  }

  private func isNamed(_ kiosk: KioskState) -> Bool {
    kiosk.id.text.lowercased().contains(text) || kiosk.place?.lowercased().contains(text) == true
      || kiosk.name?.contains(text) == true
  }

  /// The words for the states of a kiosk, in both languages.
  private static let states: [(words: [String], isMet: @Sendable (KioskState) -> Bool)] = [
    (["online", "온라인"], { $0.isOnline }),
    (["offline", "오프라인"], { !$0.isOnline }),
    (["open", "영업 중", "영업중"], { $0.service == .open }),
    (["closed", "종료", "영업 종료", "영업종료"], { $0.service == .closed }),
    (["problem", "문제", "확인 필요"], { [.noSales, .problem].contains($0.urgency) }),
    (["clock", "시계"], { $0.isOnline && $0.isClockWrong }),
    (["disk", "디스크"], { $0.isOnline && $0.isDiskShort }),
    (["menu", "메뉴"], { $0.isOnline && $0.menuProblem != nil }),
    (["machine", "기계", "고장"], { $0.machines.values.contains(where: \.needsAttention) }),
    (["payment", "card", "결제", "카드"], \.paymentNeedsAttention),
    (["sensor", "센서", "온도"], { $0.sensors.values.contains(where: \.needsAttention) }),
    (["expired", "만료", "유통기한"], { !$0.expired.isEmpty }),
    (["out", "품절", "판매 불가"], { $0.isOnline && $0.isShort }),
    (["low", "부족"], { !$0.fruits(.low).isEmpty }),
  ]

  /// Returns whether the text is a part of the name of a machine that needs attention, of a juice
  /// with an obstacle other than `closed`, or of a fruit that is short or low.
  private func isDescribed(_ kiosk: KioskState) -> Bool {
    if kiosk.machines.contains(where: {
      $0.value.needsAttention && $0.key.text.lowercased().contains(text)
    }) {
      return true
    }
    if kiosk.unavailableJuices.contains(where: { juice, obstacle in
      obstacle != .closed
        && (juice.id.text.lowercased().contains(text) || juice.name.contains(text))
    }) {
      return true
    }
    return (kiosk.shortFruits + kiosk.fruits(.low)).contains { fruit in
      if fruit.text.lowercased().contains(text) { return true }
      return kiosk.menu?.menu.fruits.first { $0.id == fruit }?.name.contains(text) == true
    }
  }
}

extension LocalizedName {
  fileprivate func contains(_ text: String) -> Bool {
    Language.allCases.contains { self[$0].lowercased().contains(text) }
  }
}
