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

extension ProgramStep {
  /// Returns the wording for the history.
  package func text(_ language: Language) -> String {
    let name = id.program.name(language)
    let cause = reason.flatMap { MachineProgram.Cause(rawValue: $0)?.text(language) }
    return switch kind {
    case .due: language("\(name): due", "\(name): 필요") + (cause.map { " (\($0))" } ?? "")
    case .requested: language("\(name): requested", "\(name): 요청")
    case .done: language("\(name): done", "\(name): 완료")
    case .failed:
      language("\(name): not done", "\(name): 완료하지 못함") + ": " + language.failure(reason ?? "")
    }
  }
}

extension MachineProgram.Cause {
  package func text(_ language: Language) -> String {
    switch self {
    case .hours: language("time since the last one", "마지막 실행 이후 시간")
    case .glasses: language("number of glasses", "잔 수")
    case .idle: language("not used", "사용 안 함")
    case .opening: language("opening", "영업 시작")
    case .closing: language("closing", "영업 종료")
    }
  }
}

extension JobDecision.Choice {
  /// Returns the wording for the history.
  package func text(_ language: Language) -> String {
    switch self {
    case .poured: language("poured", "나감")
    case .again: language("to be made again", "다시 만들기")
    case .giveBack: language("given back", "재료를 되돌림")
    }
  }
}

extension Language {
  /// Returns the reason why a juice was not made or a program was not done: a text for the kiosk's
  /// own reasons, a machine's reason unchanged.
  package func failure(_ reason: String) -> String {
    OrderFailure(rawValue: reason)?.text(self) ?? PaymentEnd(rawValue: reason)?.text(self) ?? reason
  }
}

extension OrderFailure {
  fileprivate func text(_ language: Language) -> String {
    switch self {
    case .waitedTooLong: language("it had waited too long", "너무 오래 기다림")
    case .noFruit: language("the machine has run out of the fruit", "기계에 재료가 떨어짐")
    case .expired: language("its fruit has expired", "재료의 유통기한이 지남")
    case .blocked: language("blocked by a sensor", "센서가 판매를 막음")
    case .givenBack: language("given back", "재료를 되돌림")
    case .paymentLost: language("the payment has failed", "결제 오류")
    case .cleaning: language("the machine was being cleaned", "기계 청소 중")
    case .unknown: language("the result is unknown", "결과를 알 수 없음")
    case .machineDown: language("the machine is out of order", "기계 고장")
    }
  }
}

extension PaymentEnd {
  fileprivate func text(_ language: Language) -> String {
    switch self {
    case .declined: language("the payment was declined", "결제 거절")
    case .notPaid: language("not paid", "결제하지 않음")
    case .replaced: language("replaced by another press", "다른 주문으로 바뀜")
    case .unknown: OrderFailure.paymentLost.text(language)
    case .wrongAmount: language("the terminal held another amount", "다른 금액이 승인됨")
    }
  }
}
