import Fleet
import JuiceDomain
import KioskProtocol

extension CommandForm {
  /// Reads a form that a user has sent.
  ///
  /// - Throws: `Incomplete` if the user has to enter a value, `RequestError.badForm` if no page
  ///   contains such a form.
  init(
    _ kind: Kind, _ form: Form, at kiosk: KioskState, now: Timestamp, _ language: Language
  ) throws {
    let button = (form[kind.field] ?? "").split(separator: ".", omittingEmptySubsequences: false)
      .map(String.init)
    func value<Value>(_ index: Int, _ read: (String) -> Value?) throws -> Value {
      guard button.count == (kind == .service || kind == .undo ? 1 : 2),
        let value = read(button[index])
      else { throw RequestError.badForm }
      return value
    }
    switch kind {
    case .job:
      self.init(
        JobDecision(job: try value(1) { Int($0) }, choice: try value(0, JobDecision.Choice.init)),
        at: kiosk, language)
    case .program:
      self.init(
        ProgramID(
          machine: try value(1) { MachineID($0) }, program: try value(0, MachineProgram.init)),
        language)
    case .charge:
      let word = (form["word"] ?? "").visible(upTo: SensorDecision.maximumWord)
      self.init(
        ChargeDecision(
          charge: try value(1, ChargeDecision.charge),
          choice: try value(0, ChargeDecision.Choice.init),
          word: word.allSatisfy(\.isWhitespace) ? nil : word), language)
    case .sensor:
      let sensor = try value(1) { SensorID($0) }
      let word = (form["word.\(sensor)"] ?? "").visible(upTo: SensorDecision.maximumWord)
      let choice = try value(0, SensorDecision.Choice.init)
      guard word.contains(where: { !$0.isWhitespace }) else {
        throw Incomplete(
          text: language("Nothing was decided: write the reason.", "사유를 적어 주세요. 아무것도 바꾸지 않았어요."))
      }
      self.init(SensorDecision(sensor: sensor, choice: choice, word: word), language)
    case .service: self.init(try value(0, ServiceState.init), at: kiosk, language)
    case .remove:
      let removal = try Removal(form)
      guard !removal.amounts.isEmpty else {
        throw Incomplete(
          text: language(
            "Nothing was recorded: enter how much you have taken out.",
            "꺼낸 수량을 적어 주세요. 아무것도 기록하지 않았어요."))
      }
      self.init(removal, at: kiosk, language)
    case .undo: try self.init(undoing: try value(0) { Int($0) }, at: kiosk, now: now, language)
    }
  }

  private init(_ decision: JobDecision, at kiosk: KioskState, _ language: Language) {
    // The ledger has the number of the order, and not of the attempt.
    let job =
      kiosk.undecidedJobs.first { $0.job.attempt == decision.job }?.job.job ?? decision.job
    self.init(
      command: .job(decision),
      name: "\(decision.choice.name(language)), \(language("job \(job)", "작업 \(job)"))",
      done: language(
        "Job \(job): \(decision.choice.text(language)).",
        "작업 \(job): \(decision.choice.text(language))."),
      refusals: [
        .conflict: language(
          "There is too little fruit for another attempt. Restock first, or return the fruit.",
          "다시 만들 재료가 모자라요. 먼저 재고를 채우거나 재료 되돌리기를 골라 주세요."),
        .noDecisionNeeded: language(
          "Nothing was changed: another user has decided, or the machine has answered.",
          "다른 사람이 이미 정했거나 기계가 응답해서 아무것도 바꾸지 않았어요."),
      ])
  }

  private init(_ program: ProgramID, _ language: Language) {
    let name = "\(program.machine): \(program.program.name(language))"
    self.init(
      command: .program(program), name: name,
      done: language("\(name) is requested.", "\(name) 요청했어요."),
      refusals: [
        .conflict: language(
          "\(name): its fruit is missing, or a program runs already.",
          "\(name): 재료가 모자라거나 다른 작업이 진행 중이에요.")
      ])
  }

  private init(_ decision: ChargeDecision, _ language: Language) {
    let charge = decision.charge
    self.init(
      command: .charge(decision),
      name: "\(decision.choice.name(language)), \(language("charge \(charge)", "결제 \(charge)"))",
      done: language(
        "Charge \(charge): \(decision.choice.text(language)).",
        "결제 \(charge): \(decision.choice.text(language))."),
      refusals: [
        .noDecisionNeeded: language(
          "Nothing was changed: this is not possible for the charge now.",
          "지금은 이 결제를 그렇게 처리할 수 없어 아무것도 바꾸지 않았어요.")
      ])
  }

  private init(_ decision: SensorDecision, _ language: Language) {
    self.init(
      command: .sensor(decision),
      name: "\(decision.choice.name(language)), \(decision.sensor.title(language))",
      done: language("Your decision is recorded.", "결정을 기록했어요."),
      refusals: [
        .conflict: language(
          "Nothing was discarded: an open order still has some of the fruit. "
            + "Decide about its job first, or wait until it ends.",
          "끝나지 않은 주문에 이 과일이 쓰여서 폐기하지 않았어요. "
            + "먼저 그 작업을 정하거나 끝날 때까지 기다려 주세요.")
      ])
  }

  private init(_ service: ServiceState, at kiosk: KioskState, _ language: Language) {
    let done =
      switch service {
      case .closed: language("The kiosk is closed.", "영업을 종료했어요.")
      case .open where kiosk.settings?.hours != nil:
        language("The kiosk takes orders within its opening hours.", "이제 영업시간에 주문을 받아요.")
      case .open: language("The kiosk is open.", "영업을 시작했어요.")
      }
    self.init(command: .service(service), name: service.name(language), done: done)
  }

  private init(_ removal: Removal, at kiosk: KioskState, _ language: Language) {
    let amounts = kiosk.inMenuOrder(removal.amounts)
      .map { language.amount($0.amount, of: kiosk.name(of: $0.fruit, language)) }
      .joined(separator: ", ")
    self.init(
      command: .remove(removal), name: "\(amounts), \(removal.reason.text(language))",
      done: language("Recorded as taken out: \(amounts).", "꺼낸 것으로 기록했어요: \(amounts)."),
      refusals: [
        .conflict: language(
          "Nothing was recorded: it was taken out already, or more has expired meanwhile.",
          "그사이 다른 사람이 꺼냈거나 더 만료돼서 기록하지 않았어요.")
      ])
  }

  private init(
    undoing seq: Int, at kiosk: KioskState, now: Timestamp, _ language: Language
  ) throws(Incomplete) {
    guard let entry = kiosk.service(seq), let undo = kiosk.undo(of: entry, at: now) else {
      throw Incomplete(
        text: kiosk.services.contains { $0.undone == seq }
          ? language("Entry #\(seq) is undone.", "#\(seq) 기록을 되돌렸어요.")
          : language(
            "Nothing was changed: this entry cannot be undone any more.",
            "이제 되돌릴 수 없는 기록이라 아무것도 바꾸지 않았어요."))
    }
    let changes = undo.restock.add.map {
      language.amount(signed($1), of: kiosk.name(of: $0, language))
    }.joined(separator: ", ")
    self.init(
      command: .restock(undo.restock), name: changes,
      done: language(
        "Entry #\(seq) is undone by a counter-entry: \(changes).",
        "#\(seq) 기록을 반대 기록으로 되돌렸어요: \(changes)."),
      refusals: [
        .belowZero: language(
          "Nothing was changed: some of the fruit has been used since.",
          "그사이 과일을 써서 아무것도 바꾸지 않았어요."),
        .expired: language(
          "Nothing was changed: the fruit of this entry has expired or been used since.",
          "이 기록의 과일이 그사이 만료됐거나 쓰여서 아무것도 바꾸지 않았어요."),
      ], id: undo.id)
  }
}

extension ServiceState {
  /// Returns the label of the button that changes to this state.
  func name(_ language: Language) -> String {
    self == .open ? language("Open the kiosk", "영업 시작") : language("Close the kiosk", "영업 종료")
  }
}

extension SensorDecision.Choice {
  /// Returns the label of the button.
  func name(_ language: Language) -> String {
    self == .discard ? language("Discard", "폐기") : language("Release", "차단 해제")
  }
}

extension ChargeDecision {
  /// Reads the number of a charge: 1 to 2^53 - 1.
  static func charge(_ text: String) -> Int? {
    Int(text).flatMap { (1..<1 << 53).contains($0) ? $0 : nil }
  }
}

extension Removal {
  /// Reads a button such as `kiwi.spoiled` for one expired fruit, or `.spoiled` for all of them; or else
  /// the amounts and the reason that were entered.
  fileprivate init(_ form: Form) throws(RequestError) {
    if let button = form[CommandForm.Kind.remove.field] {
      let parts = button.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      let amounts = try form.amounts("amount.")
      guard parts.count == 2, let reason = Reason(rawValue: parts[1]) else { throw .badForm }
      let expired = FruitAmounts(amounts.filter { parts[0].isEmpty || $0.fruit.text == parts[0] })
      guard !expired.isEmpty, expired.allSatisfy({ $0.amount > 0 }) else { throw .badForm }
      self.init(expired: expired, reason: reason)
    } else {
      guard let reason = form["reason"].flatMap(Reason.init(rawValue:)) else { throw .badForm }
      let stock = try form.amounts("remove.", isChange: true)
      guard stock.allSatisfy({ $0.amount > 0 }) else { throw .badForm }
      self.init(stock: stock, reason: reason)
    }
  }
}
