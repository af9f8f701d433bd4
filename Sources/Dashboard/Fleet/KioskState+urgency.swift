package import JuiceDomain
package import KioskProtocol

extension KioskState {
  /// The fruit that is expected to run out first, with the time, or `nil` if none is. Omits the fruits
  /// that do not suffice for a glass already.
  package var nextStockout: (fruit: Fruit.ID, at: Timestamp)? {
    let short = reports.shortFruits
    return forecast?.fruits.lazy
      .compactMap { fruit, outlook in
        outlook.stock > 0 && !short.contains(fruit)
          ? outlook.endsAt.map { (fruit: fruit, at: $0) } : nil
      }
      .min { ($0.at, $0.fruit) < ($1.at, $1.fruit) }
  }
}

extension ForecastReport.Outlook {
  /// The time at which the stock will be used up, or will all have expired; or `nil` if neither is known.
  fileprivate var endsAt: Timestamp? {
    guard let last = expires.last?.at, expires.reduce(0, { $0 + $1.amount }) >= stock else {
      return emptyAt
    }
    return emptyAt.map { min($0, last) } ?? last
  }
}

/// The problems of all kiosks of a fleet at one time.
///
/// ```swift
/// let survey = fleet.survey(at: .now)
/// survey.byUrgency(matching: "strawberry")  // Kiosks to visit, the most urgent first
/// survey.count.offline  // 0
/// ```
package struct FleetSurvey: Sendable {
  private let fleet: KioskFleet
  private let problems: [KioskID: [Problem]]
  package let count: Count
  /// The mean of the usual glasses of the kiosks that have some, or 1 if none has.
  private let meanUsualGlasses: Double

  /// Numbers of all kiosks, of those with machines, and of those with each kind of problem: as many as
  /// `byUrgency` finds by the word for it.
  package struct Count: Hashable, Sendable {
    package var kiosks = 0
    package var offline = 0
    /// Kiosks with a problem that neither fruit nor a connection ends.
    package var needingAttention = 0
    package var withMachines = 0
    /// Kiosks that are online and have a fruit that is short or a juice that cannot be sold.
    package var out = 0
    /// Kiosks with a problem that is more than worth knowing.
    package var urgent = 0
    package var closed = 0
    package var low = 0
  }

  fileprivate init(_ fleet: KioskFleet, at now: Timestamp) {
    self.fleet = fleet
    var (problems, count) = ([KioskID: [Problem]](), Count())
    var usual: [Double] = []
    fleet.forEachKiosk { kiosk in
      let found = kiosk.reports.problems(at: now)
      problems[kiosk.id] = found
      count.kiosks += 1
      if !kiosk.reports.machines.isEmpty { count.withMachines += 1 }
      if !kiosk.isOnline { count.offline += 1 }
      if let glasses = kiosk.usualGlasses { usual.append(glasses) }
      if found.contains(where: { $0.severity < .note }) { count.urgent += 1 }
      if found.contains(where: \.needsAttention) { count.needingAttention += 1 }
      if found.contains(where: \.isLoss) { count.out += 1 }
      if found.contains(where: { $0.kind == .closed }) { count.closed += 1 }
      if found.contains(where: \.isLow) { count.low += 1 }
    }
    (self.problems, self.count) = (problems, count)
    meanUsualGlasses = usual.isEmpty ? 1 : usual.reduce(0, +) / Double(usual.count)
  }

  package subscript(kiosk: KioskID) -> [Problem] { problems[kiosk] ?? [] }

  /// Returns the ids of the matching kiosks, those with the largest expected loss of sales first; then
  /// those with money or fruit that waits for a person, then by severity, by the expected time of the
  /// next stockout, and by name.
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
  ) -> [KioskID] {
    let search = text.isEmpty ? nil : KioskSearch(text)
    typealias Key = (
      loss: Double, decisions: Int, severity: Int, dry: Int64, title: String, id: KioskID
    )
    // Sorts only keys, because moving a state takes longer than a comparison.
    var keys: [Key] = []
    fleet.forEachKiosk { kiosk in
      let problems = self[kiosk.id]
      guard search?.matches(kiosk, problems) ?? true else { return }
      // Without such a problem nothing is lost.
      let losesSales = problems.first.map { $0.severity <= .sellsLess } ?? false
      let lostShare = losesSales ? kiosk.reports.lostShare : 0
      keys.append(
        (
          loss: -lostShare * (kiosk.usualGlasses ?? meanUsualGlasses),
          decisions: problems.contains { $0.severity == .decision } ? 0 : 1,
          severity: problems.first?.severity.rawValue ?? .max,
          dry: kiosk.nextStockout?.at.milliseconds ?? .max,
          title: kiosk.title(language), id: kiosk.id
        ))
    }
    return keys.sorted(by: <).map(\.id)
  }
}

extension KioskFleet {
  package func survey(at now: Timestamp) -> FleetSurvey { FleetSurvey(self, at: now) }
}

private struct KioskSearch {
  private typealias Condition = @Sendable (KioskState, Problem?) -> Bool

  private let text: String
  /// The conditions of the states that have the text as one of their words.
  private let conditions: [Condition]

  init(_ text: String) {
    self.text = text.lowercased()
    conditions = Self.states.filter { [text = self.text] in $0.words.contains(text) }.map(\.isMet)
  }

  func matches(_ kiosk: KioskState, _ problems: [Problem]) -> Bool {
    isNamed(kiosk) || isDescribed(kiosk, problems)
      || conditions.contains { isMet in
        isMet(kiosk, nil) || problems.contains { isMet(kiosk, $0) }
      }
  }

  private func isNamed(_ kiosk: KioskState) -> Bool {
    kiosk.id.text.lowercased().contains(text) || kiosk.place?.lowercased().contains(text) == true
      || kiosk.name?.contains(text) == true
  }

  /// The words for the states of a kiosk, in both languages.
  private static let states: [(words: [String], isMet: Condition)] = [
    (["online", "온라인"], { kiosk, _ in kiosk.isOnline }),
    (["open", "영업 중", "영업중"], { kiosk, _ in kiosk.isOnline && kiosk.service == .open }),
    (["closed", "종료", "영업 종료", "영업종료"], { $1?.kind == .closed }),
    (["problem", "문제", "확인 필요"], { $1?.needsAttention == true }),
    (["offline", "오프라인"], { $1?.kind == .offline }),
    (["clock", "시계"], { $1?.kind == .clock }),
    (["disk", "디스크"], { $1?.kind == .disk }),
    (["menu", "메뉴"], { $1?.kind == .menu }),
    (["out", "품절", "판매 불가"], { $1?.isLoss == true }),
    (["low", "부족"], { $1?.isLow == true }),
    (["machine", "기계", "고장"], { $1?.kind.group == .machines }),
    (["payment", "card", "결제", "카드"], { $1?.kind.group == .payments }),
    (["sensor", "센서", "온도"], { $1?.kind.group == .sensors }),
    (["expired", "만료", "유통기한"], { if case .expired = $1?.kind { true } else { false } }),
  ]

  /// Returns whether the text is a part of the name of a machine or a fruit with a problem, or of a
  /// juice that cannot be sold.
  private func isDescribed(_ kiosk: KioskState, _ problems: [Problem]) -> Bool {
    problems.contains { problem in
      switch problem.kind {
      case .machine(let machine): machine.text.lowercased().contains(text)
      case .job(let job, _):
        kiosk.undecidedJobs.contains {
          $0.job.job == job && $0.machine.text.lowercased().contains(text)
        }
      case .out(let fruit), .low(let fruit):
        fruit.text.lowercased().contains(text)
          || kiosk.menu?.menu.fruits.first { $0.id == fruit }?.name.contains(text) == true
      case .noSales, .unsold:
        kiosk.lostJuices.contains { juice, _ in
          juice.id.text.lowercased().contains(text) || juice.name.contains(text)
        }
      default: false
      }
    }
  }
}

extension LocalizedName {
  fileprivate func contains(_ text: String) -> Bool {
    Language.allCases.contains { self[$0].lowercased().contains(text) }
  }
}
