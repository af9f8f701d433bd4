package import JuiceDomain

/// Writes what is wrong with a kiosk, and what ends it, for operators.
package struct ProblemText {
  private let kiosk: KioskReports
  private let language: Language
  private let time: (Timestamp) -> String

  /// Maximum length of a name or a reason from a kiosk, in Unicode scalars.
  private static let maximumName = 80

  /// - Parameter time: Returns the text of the time at which a fruit expires.
  package init(_ kiosk: KioskReports, _ language: Language, time: @escaping (Timestamp) -> String) {
    (self.kiosk, self.language, self.time) = (kiosk, language, time)
  }

  /// Returns the title with its detail, such as `machine bar: out of order (no cups)`.
  package func sentence(about problem: Problem.Kind) -> String {
    title(of: problem) + (detail(of: problem).map { " (\($0))" } ?? "")
  }

  package func title(of problem: Problem.Kind) -> String {
    switch problem {
    case .offline: return language("offline", "오프라인")
    case .noSales: return language("sells nothing", "아무것도 못 팔고 있음")
    case .unsold:
      let (count, all) = (kiosk.lostJuices.count, kiosk.menu?.menu.juices.count ?? 0)
      return language("\(count) of \(all) juices not for sale", "쥬스 \(all)개 중 \(count)개 판매 불가")
    case .disk:
      let megabytes = (kiosk.disk?.free ?? 0) / 1_000_000
      return language("disk: \(megabytes) MB free", "디스크 \(megabytes) MB 남음")
    case .machine(let id):
      let state = kiosk.machines[id].map { ": \(self.state(of: $0))" } ?? ""
      return language("machine \(id)\(state)", "기계 \(id)\(state)")
    case .job(_, let ticket):
      return language("ticket \(ticket) needs a decision", "\(ticket)번 주문 확인 필요")
    case .payment(let device):
      let state = kiosk.payments[device].map { report in
        report.state == .off
          ? language(": out of order", ": 고장")
          : language(": has not reported its charges", ": 결제 내역을 아직 알리지 않음")
      }
      return language("payment \(device)\(state ?? "")", "결제 \(device)\(state ?? "")")
    case .charge:
      let name = name(of: problem)
      return language("\(name) needs a decision", "\(name) 확인 필요")
    case .difference(let device):
      let amount = kiosk.dayDifferences.first { $0.device == device }
        .map { " \(Money.text($0.units, $0.currency, language))" }
      return language("end of day of \(device) differs", "\(device) 마감 금액 차이") + (amount ?? "")
    case .sensor(let id):
      let state = kiosk.sensors[id].map { ": \($0.text(language))" } ?? ""
      let name = id.title(language)
      return language("sensor \(name)\(state)", "센서 \(name)\(state)")
    case .expired(let fruit):
      let (amount, name) = (kiosk.expired[fruit] ?? 0, name(of: problem))
      return language("\(amount) \(name) expired: take it out", "\(name) \(amount)개 만료: 꺼내야 함")
    case .menu: return language("menu of the chain not in use", "체인 메뉴 적용 안 됨")
    case .clock:
      let minutes = Int(exactly: (kiosk.clockLead / .seconds(60)).rounded()) ?? 0
      let length = language.length(ofMinutes: Int(clamping: minutes.magnitude))
      return minutes > 0
        ? language("clock \(length) ahead", "시계 \(length) 빠름")
        : language("clock \(length) behind", "시계 \(length) 느림")
    case .out(let fruit):
      let name = name(of: problem)
      return kiosk.stock?.fruits[fruit] ?? 0 == 0
        ? language("\(name) is out", "\(name) 품절")
        : language("too little \(name)", "\(name) 모자람")
    case .closed: return language("closed", "영업 종료")
    case .low:
      let name = name(of: problem)
      return language("\(name) is low", "\(name) 부족")
    case .expires(let fruit):
      let (name, time) = (name(of: problem), kiosk.stock?.expires[fruit].map(time) ?? "")
      return language("\(name) expires \(time)", "\(name) \(time) 만료 예정")
    }
  }

  /// Returns the causes, a reason in the words of a device, or a value; or `nil` if there is none.
  package func detail(of problem: Problem.Kind) -> String? {
    let text: String? =
      switch problem {
      case .noSales, .unsold: lossReasons
      case .machine(let id): kiosk.machines[id].flatMap(reason)
      case .payment(let device): kiosk.payments[device]?.reason
      case .sensor(let id): kiosk.sensors[id].map(facts)
      case .menu: kiosk.menuProblem
      case .out(let fruit): juices(without: fruit)
      case .charge(let number, _):
        kiosk.payments.values.lazy.flatMap(\.charges).first { $0.charge == number }?.amount.text(
          language)
      default: nil
      }
    guard let text, !text.isEmpty else { return nil }
    return text.visible(upTo: 4 * Self.maximumName)
  }

  /// Returns the action that ends the problem.
  package func remedy(of problem: Problem.Kind) -> String {
    switch problem {
    case .offline:
      language("check its power and its network", "전원과 네트워크를 확인하세요")
    case .noSales, .unsold: language("end the causes", "원인을 해결하세요")
    case .disk:
      language("delete old logs or backups, or use a larger disk", "오래된 로그나 백업을 지우거나 디스크를 바꾸세요")
    case .machine(let id): kiosk.machines[id].map(remedy) ?? ""
    case .job:
      language("look whether it was poured, and decide", "음료가 나갔는지 보고 정하세요")
    case .payment:
      language("check the device, its paper, power and network", "기기의 용지, 전원, 네트워크를 확인하세요")
    case .charge:
      language("look for it in the device's receipts, and decide", "단말기 영수증에서 찾아보고 정하세요")
    case .difference:
      language("compare the charges with the device's receipts", "결제 내역과 단말기 영수증을 비교하세요")
    case .sensor(let id): kiosk.sensors[id].map { remedy(of: $0, id) } ?? ""
    case .expired: language("take it out, and record it", "꺼내고 기록하세요")
    case .menu: language("correct the menu, and send it again", "메뉴를 고쳐서 다시 보내세요")
    case .clock: language("set it by a time server", "시간 서버로 맞추세요")
    case .out, .low: language("restock it", "채우세요")
    case .closed: language("none is needed", "필요 없음")
    case .expires: language("sell it, or replace it in time", "그전에 팔거나 바꾸세요")
    }
  }

  /// Returns the name of the fruit or of the charge that the problem is about.
  package func name(of problem: Problem.Kind) -> String {
    switch problem {
    case .expired(let fruit), .out(let fruit), .low(let fruit), .expires(let fruit):
      kiosk.name(of: fruit, language).visible(upTo: Self.maximumName)
    case .charge(let number, let ticket):
      ticket > 0
        ? language("payment of ticket \(ticket)", "\(ticket)번 결제")
        : language("charge \(number)", "결제 \(number)")
    default: ""
    }
  }

  private func names(_ fruits: [Fruit.ID]) -> String {
    fruits.map { kiosk.name(of: $0, language).visible(upTo: Self.maximumName) }
      .joined(separator: ", ")
  }

  // MARK: Juices

  /// The reasons for which juices cannot be sold, each once, such as `Kiwi, Mango blocked by a sensor;
  /// machine out of order`.
  private var lossReasons: String {
    let obstacles = kiosk.lostJuices.map(\.obstacle)
    func fruits(_ select: (SaleObstacle) -> [Fruit.ID]?) -> [Fruit.ID] {
      let selected = Set(obstacles.compactMap(select).joined())
      return (kiosk.menu?.menu.fruits ?? []).map(\.id).filter(selected.contains)
    }
    let lists: [SaleObstacle] = [
      .blocked(fruits { if case .blocked(let fruits) = $0 { fruits } else { nil } }),
      .machineOut(fruits { if case .machineOut(let fruits) = $0 { fruits } else { nil } }),
      .fruit(fruits { if case .fruit(let fruits) = $0 { fruits } else { nil } }),
    ]
    return
      (lists.filter { !$0.fruits.isEmpty }
      + [.machine, .cleaningDue, .payment].filter(obstacles.contains))
      .map(reason).joined(separator: "; ")
  }

  private func reason(of obstacle: SaleObstacle) -> String {
    let names = names(obstacle.fruits)
    return switch obstacle {
    case .fruit: language("too little \(names)", "\(names) 모자람")
    case .machineOut: language("machine without \(names)", "기계에 없음: \(names)")
    case .blocked: language("\(names) blocked by a sensor", "\(names) 센서가 차단")
    case .machine, .cleaningDue, .payment, .closed: obstacle.text(language)
    }
  }

  /// Returns the juices that cannot be sold with their reasons, such as `Kiwi juice (Kiwi 2/3)`.
  /// Names ten juices and counts the others. Returns `nil` if there are none.
  package var lostJuices: String? {
    let juices = kiosk.lostJuices
    let shown = juices.prefix(10).map { juice, obstacle in
      let reason =
        if case .fruit(let fruits) = obstacle {
          fruits.map { fruit in
            let needed = juice.recipe.amounts[fruit] ?? 0
            return "\(kiosk.name(of: fruit, language)) \(kiosk.stock?.fruits[fruit] ?? 0)/\(needed)"
          }.joined(separator: ", ")
        } else {
          reason(of: obstacle)
        }
      return "\(juice.name[language]) (\(reason))"
    }
    return juices.isEmpty ? nil : list(shown, of: juices.count)
  }

  /// Returns the juices that cannot be sold because the fruit is short, or `nil` if there are none.
  private func juices(without fruit: Fruit.ID) -> String? {
    let names = kiosk.unavailableJuices.compactMap { juice, obstacle -> String? in
      guard case .fruit(let fruits) = obstacle, fruits.contains(fruit) else { return nil }
      return juice.name[language].visible(upTo: Self.maximumName)
    }
    guard !names.isEmpty else { return nil }
    let list = list(Array(names.prefix(3)), of: names.count)
    return language("not for sale: \(list)", "판매 불가: \(list)")
  }

  private func list(_ shown: [String], of count: Int) -> String {
    let more = count - shown.count
    return shown.joined(separator: ", ")
      + (more > 0 ? language(" and \(more) more", " 외 \(more)개") : "")
  }

  // MARK: Devices

  private func state(of machine: MachineReport) -> String {
    let programs = machine.programs.filter(\.needsAttention).map { $0.problem(language) }
    // The state `cleaningDue` is about the programs.
    let isState =
      machine.state == .waiting
      || machine.state.isProblem && (machine.state != .cleaningDue || programs.isEmpty)
    let fruits = names(machine.out)
    return
      ((isState ? [machine.state.text(language)] : []) + programs
      + (fruits.isEmpty ? [] : [language("no \(fruits)", "\(fruits) 없음")]))
      .joined(separator: ", ")
  }

  private func reason(of machine: MachineReport) -> String? {
    let missing = machine.programs.filter(\.needsAttention).compactMap(\.missing).joined()
      .map { "\(kiosk.name(of: $0.fruit, language)) \($0.amount)" }.joined(separator: ", ")
    let texts = [
      machine.reason, missing.isEmpty ? nil : language("missing: \(missing)", "부족: \(missing)"),
    ].compactMap(\.self)
    return texts.isEmpty ? nil : texts.joined(separator: "; ")
  }

  private func remedy(of machine: MachineReport) -> String {
    let program = machine.programs.first(where: \.needsAttention)
    switch machine.state {
    case .offline, .unknown:
      return language("check its power, and that it reaches the broker", "전원과 브로커 연결을 확인하세요")
    case .silent: return language("restart it", "다시 켜세요")
    case .disabled:
      return language(
        "configure it with 'enabled: true', or with 'juices: []' if its juices need no machine",
        "설정에서 켜거나(enabled: true), 기계가 필요 없으면 juices: []로 두세요")
    case .fault, .failing: return language("repair it", "고치세요")
    case .waiting: return language("do what it waits for", "기계가 기다리는 일을 하세요")
    case .idle, .busy, .cleaning, .cleaningDue: break
    }
    if program?.state?.isUndecided == true {
      return language("look whether it was done, and decide", "끝났는지 보고 정하세요")
    }
    if program?.missing != nil || program == nil { return language("refill it", "채우세요") }
    return language("start the program", "프로그램을 시작하세요")
  }

  /// Returns the value, the number of unusable messages, and what the sensor blocks.
  private func facts(about sensor: SensorReport) -> String {
    let blocked =
      sensor.state == .blocked
      ? [names(sensor.fruits)] + sensor.machines.map { "\($0)" } : []
    let ignored =
      sensor.ignored > 0
      ? language(
        "\(language.count(sensor.ignored, "message", "messages")) without a usable value",
        "값 없는 메시지 \(sensor.ignored)건") : ""
    return ([sensor.value == nil ? "" : sensor.valueText, ignored] + blocked)
      .filter { !$0.isEmpty }.joined(separator: ", ")
  }

  private func remedy(of sensor: SensorReport, _ id: SensorID) -> String {
    if id == .clock {
      return language(
        "wait for the network's time, or compare the clock with a watch, set it, and release the fruit",
        "네트워크 시간을 기다리거나, 시계를 맞춘 뒤 차단을 해제하세요")
    }
    return sensor.state == .blocked
      ? language("check the fruit, and discard or release it", "과일을 확인하고 폐기하거나 차단을 해제하세요")
      : sensor.isSilent || sensor.state == .unknown
        ? language("check its battery and its connection", "배터리와 연결을 확인하세요")
        : language("close the door, refill, or repair the cooling", "문을 닫거나, 채우거나, 냉각을 고치세요")
  }
}
