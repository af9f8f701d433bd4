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

  /// Returns chips that show whether the kiosk is online and open, its problems, and the fruits
  /// that are short.
  func chips(_ language: Language, now: Timestamp) -> [HTML] {
    var chips = problemChips(language, now: now)
    if isOnline { chips.insert(onlineChip(language), at: 0) }
    for (alert, style, word) in [
      (StockAlert.out, "bad" as HTML, language("out", "품절")), (.low, "warn", language("low", "부족")),
    ] {
      chips += fruits(alert).map { fruit in
        """
        <a class="chip \(style)" href="\(restockAddress([fruit]))">\(name(of: fruit, language)) \(word)</a>
        """
      }
    }
    return chips
  }

  func onlineChip(_ language: Language) -> HTML {
    "<span class=\"chip good\">\(language("Online", "온라인"))</span>"
  }

  /// Returns chips for all problems except the stock.
  func problemChips(_ language: Language, now: Timestamp) -> [HTML] {
    var chips: [HTML] = []
    if !isOnline {
      let since = (offlineSince ?? lastMessageAt).map {
        " · \(LocalTime(nil, now: now, language).distance($0))"
      }
      chips.append("<span class=\"chip bad\">\(language("Offline", "오프라인"))\(since ?? "")</span>")
    }
    chips += machineChips(language)
    if service == .closed {
      chips.append("<span class=\"chip warn\">\(language("Closed", "영업 종료"))</span>")
    }
    return chips + hostChips(language)
  }

  /// Returns chips for problems with the computer of the kiosk.
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

  /// Returns chips for problems with the machines; none while the kiosk is offline and their state
  /// is unknown.
  private func machineChips(_ language: Language) -> [HTML] {
    guard isOnline else { return [] }
    var chips: [HTML] = machineReports.compactMap { machine, report in
      guard report.state.isProblem else { return nil }
      return "<span class=\"chip bad\">\(machine): \(report.state.text(language))</span>"
    }
    let waiting = undecidedJobs.count
    if waiting > 0 {
      let text = language(
        waiting == 1 ? "1 order waits for a person" : "\(waiting) orders wait for a person",
        "확인 필요 \(waiting)건")
      chips.append("<span class=\"chip bad\">\(text)</span>")
    }
    return chips
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

  /// Returns the amount that fills a fruit up, or `nil` if it is full or its capacity is unknown.
  func room(for fruit: Fruit.ID) -> Int? {
    guard let capacity = menu?.capacities[fruit], let held = stock?.fruits[fruit], capacity > held
    else { return nil }
    return capacity - held
  }
}
