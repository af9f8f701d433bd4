import Fleet
import JuiceDomain
import KioskProtocol

extension KioskState {
  func name(of fruit: Fruit.ID, _ language: Language) -> String {
    menu?.menu.fruits.first { $0.id == fruit }?.name[language] ?? fruit.text
  }

  func name(of juice: Juice.ID, _ language: Language) -> String {
    menu?.menu.juice(juice)?.name[language] ?? juice.text
  }

  /// Returns chips that show whether the kiosk is online, its problems, and the fruits that are
  /// out, short or low.
  func chips(_ language: Language, now: Timestamp) -> [HTML] {
    var chips = problemChips(language, now: now)
    if isOnline { chips.insert(onlineChip(language), at: 0) }
    let short = shortFruits
    return chips
      + (short + fruits(.low).filter { !short.contains($0) }).map { fruit in
        let (style, word) = shortage(of: fruit, language) ?? ("", "")
        return """
          <a class="chip \(style)" href="\(restockAddress([fruit]))">\(name(of: fruit, language)) \(word)</a>
          """
      }
  }

  /// Returns the style and the word for a fruit that is out, too short for a juice, or low. Returns
  /// `nil` for any other fruit.
  func shortage(of fruit: Fruit.ID, _ language: Language) -> (style: HTML, word: String)? {
    let held = stock?.fruits[fruit]
    let least = menu?.menu.recipeAmounts[fruit]?.upperBound ?? 0
    if alerts[fruit] == .out || held.map({ $0 < least }) ?? false {
      return held ?? 0 == 0
        ? ("bad", language("out", "품절")) : ("bad", language("short", "모자람"))
    }
    return alerts[fruit] == .low ? ("warn", language("low", "부족")) : nil
  }

  /// Returns the juices that cannot be sold with their reasons, such as `Kiwi juice (Kiwi 2/3)`.
  /// Names ten juices and counts the others. Returns `nil` if there are none, or if the kiosk is
  /// offline.
  func unsold(_ language: Language) -> String? {
    let juices = isOnline ? unavailableJuices.filter { $0.obstacle != .closed } : []
    guard !juices.isEmpty else { return nil }
    let shown = juices.prefix(10).map { juice, obstacle in
      let reason =
        if case .fruit(let fruits) = obstacle {
          fruits.map { fruit in
            let (held, needed) = (stock?.fruits[fruit] ?? 0, juice.recipe.amounts[fruit] ?? 0)
            return "\(name(of: fruit, language)) \(held)/\(needed)"
          }.joined(separator: ", ")
        } else {
          reason(of: obstacle, language)
        }
      return "\(juice.name[language]) (\(reason))"
    }
    let more = juices.count - shown.count
    return shown.joined(separator: ", ")
      + (more > 0 ? language(" and \(more) more", " 외 \(more)개") : "")
  }

  /// Returns a text such as `2 of 7 juices not for sale`, or `nil` if there is no such juice.
  func lostText(_ language: Language) -> String? {
    let (count, all) = (lostJuices.count, menu?.menu.juices.count ?? 0)
    if count == 0 { return nil }
    return sellsNothing
      ? language("sells nothing", "아무것도 못 팔고 있음")
      : language("\(count) of \(all) juices not for sale", "쥬스 \(all)개 중 \(count)개 판매 불가")
  }

  /// Returns the reasons for which juices cannot be sold, each once, such as `Kiwi, Mango blocked by
  /// a sensor; machine out of order`.
  func lostReasons(_ language: Language) -> String {
    let obstacles = lostJuices.map(\.obstacle)
    func fruits(_ select: (SaleObstacle) -> [Fruit.ID]?) -> [Fruit.ID] {
      let selected = Set(obstacles.compactMap(select).joined())
      return (menu?.menu.fruits ?? []).map(\.id).filter(selected.contains)
    }
    let lists: [SaleObstacle] = [
      .blocked(fruits { if case .blocked(let fruits) = $0 { fruits } else { nil } }),
      .machineOut(fruits { if case .machineOut(let fruits) = $0 { fruits } else { nil } }),
      .fruit(fruits { if case .fruit(let fruits) = $0 { fruits } else { nil } }),
    ]
    return
      (lists.filter { !$0.fruits.isEmpty }
      + [.machine, .cleaningDue, .payment].filter(obstacles.contains))
      .map { reason(of: $0, language) }.joined(separator: "; ")
  }

  /// Returns the reason in words for the operator.
  private func reason(of obstacle: SaleObstacle, _ language: Language) -> String {
    let names = obstacle.fruits.map { name(of: $0, language) }.joined(separator: ", ")
    return switch obstacle {
    case .fruit: language("too little \(names)", "\(names) 모자람")
    case .machineOut: language("machine without \(names)", "기계에 없음: \(names)")
    case .blocked: language("\(names) blocked by a sensor", "\(names) 센서가 차단")
    case .machine, .cleaningDue, .payment, .closed: obstacle.text(language)
    }
  }

  func onlineChip(_ language: Language) -> HTML {
    "<span class=\"chip good\">\(language("Online", "온라인"))</span>"
  }

  /// Returns chips for all problems, and for a closed kiosk. Fruits that are short have no chips of
  /// their own: one chip counts the juices that cannot be sold.
  func problemChips(_ language: Language, now: Timestamp) -> [HTML] {
    var chips: [HTML] = []
    if !isOnline {
      let since = (offlineSince ?? lastMessageAt).map {
        " · \(LocalTime(nil, now: now, language).distance($0))"
      }
      chips.append("<span class=\"chip bad\">\(language("Offline", "오프라인"))\(since ?? "")</span>")
    }
    chips += machineChips(language)
    if let text = lostText(language), let unsold = unsold(language) {
      chips.append("<span class=\"chip bad\" title=\"\(unsold)\">\(text)</span>")
    }
    if service == .closed {
      chips.append("<span class=\"chip warn\">\(language("Closed", "영업 종료"))</span>")
    }
    if isOnline {
      chips += expiring(at: now).map { fruit, time in
        let text = language("expires", "만료")
        return """
          <span class="chip warn">\(name(of: fruit, language)) \(text) \(LocalTime(nil, now: now, language).expectation(time))</span>
          """
      }
    }
    return chips + hostChips(language)
  }

  /// Returns chips for problems with the clock, the disk and the chain's menu; none while offline.
  private func hostChips(_ language: Language) -> [HTML] {
    guard isOnline else { return [] }
    var chips: [HTML] = []
    if isClockWrong {
      let minutes = Int(exactly: (clockLead / .seconds(60)).rounded()) ?? 0
      let length = language.length(ofMinutes: Int(clamping: minutes.magnitude))
      let text =
        minutes > 0
        ? language("Clock \(length) ahead", "시계가 \(length) 빨라요")
        : language("Clock \(length) behind", "시계가 \(length) 느려요")
      chips.append("<span class=\"chip bad\">\(text)</span>")
    }
    if let disk, isDiskShort {
      let style: HTML = disk.freeSpace == .full ? "bad" : "warn"
      let megabytes = disk.free / 1_000_000
      let text = language("Disk: \(megabytes) MB free", "디스크 \(megabytes) MB 남음")
      chips.append("<span class=\"chip \(style)\">\(text)</span>")
    }
    if let menuProblem {
      let text = language("Menu of the chain not in use", "체인 메뉴를 쓰지 못해요")
      chips.append("<span class=\"chip bad\" title=\"\(menuProblem)\">\(text)</span>")
    }
    return chips
  }

  /// Returns chips for machines, payment devices, sensors, expired fruit and undecided orders;
  /// none while the kiosk is offline: their state is then unknown.
  private func machineChips(_ language: Language) -> [HTML] {
    guard isOnline else { return [] }
    var chips: [HTML] = machineReports.compactMap { machine, report in
      guard let problem = report.problem(language) else { return nil }
      return "<span class=\"chip bad\">\(machine): \(problem)</span>"
    }
    chips += paymentReports.compactMap { device, report in
      guard report.state == .off else { return nil }
      return "<span class=\"chip bad\">\(device): \(report.state.text(language))</span>"
    }
    chips += dayDifferences.map { device, units, currency in
      let amount = Money.text(units, currency, language)
      let text = language("\(device): end of day differs", "\(device): 마감 금액 차이")
      return "<span class=\"chip bad\">\(text) \(amount)</span>"
    }
    chips += sensorReports.compactMap { sensor, report in
      guard report.needsAttention else { return nil }
      return "<span class=\"chip bad\">\(sensor): \(report.text(language))</span>"
    }
    chips += expired.map { fruit, amount in
      let text = language("Take out: \(amount)", "꺼내기: \(amount)")
      return "<span class=\"chip bad\">\(text) \(name(of: fruit, language))</span>"
    }
    let waiting = undecidedJobs.count + undecidedCharges.count
    if waiting > 0 {
      let text = language(
        waiting == 1 ? "1 order waits for a person" : "\(waiting) orders wait for a person",
        "확인 필요 \(waiting)건")
      chips.append("<span class=\"chip bad\">\(text)</span>")
    }
    return chips
  }
}

extension SaleObstacle {
  /// Returns the reason in words for the customer.
  func text(_ language: Language) -> String {
    switch self {
    case .fruit, .machineOut: language("sold out", "품절")
    case .blocked: language("not available now", "지금은 주문할 수 없음")
    case .machine: language("machine out of order", "기계 고장")
    case .cleaningDue: language("machine must be cleaned", "기계 청소 필요")
    case .payment: language("card terminal out of order", "카드 단말기 고장")
    case .closed: language("closed", "영업 종료")
    }
  }
}

// Restocking.
extension KioskState {
  /// Returns the address of the form that restocks these fruits; the first one gets the focus.
  func restockAddress(_ fruits: [Fruit.ID]) -> String {
    "/kiosks/\(id)?fruit=\(fruits.map(\.text).joined(separator: ","))"
  }

  /// Returns the missing fruits that are on the menu, in the order of the menu.
  func known(_ missing: FruitAmounts) -> [Fruit.ID] {
    (menu?.menu.fruits ?? []).map(\.id).filter { missing[$0] != nil }
  }
}
