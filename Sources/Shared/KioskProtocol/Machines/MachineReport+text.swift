package import JuiceDomain

extension MachineReport.State {
  package func text(_ language: Language) -> String {
    switch self {
    case .idle: language("waiting for orders", "주문 대기 중")
    case .busy: language("making juice", "만드는 중")
    case .waiting: language("waits for a person", "사람을 기다리는 중")
    case .cleaning: language("being cleaned", "청소 중")
    case .cleaningDue: language("must be cleaned", "청소 필요")
    case .offline: language("offline", "오프라인")
    case .fault: language("out of order", "고장")
    case .silent: language("does not answer", "응답 없음")
    case .failing: language("has failed three times in a row", "세 번 연속 실패")
    case .disabled: language("switched off", "사용 안 함")
    case .unknown: language("never connected", "연결된 적 없음")
    }
  }
}

extension MachineReport.Program {
  /// Returns the reason why the program needs a person.
  package func problem(_ language: Language) -> String {
    let name = program.name(language)
    if state?.isUndecided == true {
      return language("\(name): no result reported", "\(name): 결과 보고 없음")
    }
    return isOverdue
      ? language("\(name): overdue, no orders", "\(name): 늦어져서 주문 중지")
      : language("\(name): due", "\(name): 필요")
  }
}

extension MachineProgram {
  /// Returns the name of the program, as on its button.
  package func name(_ language: Language) -> String {
    switch self {
    case .clean: language("Clean", "세척")
    case .rinse: language("Rinse", "헹굼")
    case .prime: language("Prime", "채우기")
    }
  }
}
