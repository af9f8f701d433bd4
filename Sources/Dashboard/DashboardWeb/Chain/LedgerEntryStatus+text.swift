import JuiceDomain
import KioskProtocol

extension LedgerEntry.Status {
  /// Returns the wording for an entry of which only the status is known, not its details.
  func text(_ language: Language) -> String {
    switch self {
    case .opened: language("first stock", "처음 재고")
    case .ready, .made: language("ready", "완성")
    case .restocked: language("restocked", "재고 채움")
    case .open: language("opened", "영업 시작")
    case .closed: language("closed", "영업 종료")
    case .rejected: language("rejected", "거절")
    case .accepted: language("being made", "만드는 중")
    case .failed, .returned: language("not made", "만들지 못함")
    case .poured: JobDecision.Choice.poured.text(language)
    case .again: JobDecision.Choice.again.text(language)
    case .giveBack: JobDecision.Choice.giveBack.text(language)
    case .awaitingPayment: language("to be paid", "결제 대기")
    case .held: PaymentStep.Kind.held.text(language)
    case .captured: PaymentStep.Kind.captured.text(language)
    case .released: PaymentStep.Kind.released.text(language)
    case .refunded: PaymentStep.Kind.refunded.text(language)
    case .capture: PaymentStep.Kind.capture.text(language)
    case .release: PaymentStep.Kind.release.text(language)
    case .refund: PaymentStep.Kind.refund.text(language)
    case .kept: PaymentStep.Kind.kept.text(language)
    case .paidBack: PaymentStep.Kind.paidBack.text(language)
    case .writtenOff: PaymentStep.Kind.writtenOff.text(language)
    case .total: language("end of day", "일일 마감")
    case .programDue: language("program due", "기계 작업 필요")
    case .programRequested: language("program requested", "기계 작업 요청")
    case .programDone: language("program done", "기계 작업 완료")
    case .programFailed: language("program not done", "기계 작업을 완료하지 못함")
    case .sensorAlarm: SensorStep.Kind.alarm.text(language)
    case .sensorBlocked: SensorStep.Kind.blocked.text(language)
    case .sensorSilent: SensorStep.Kind.silent.text(language)
    case .sensorGap: SensorStep.Kind.gap.text(language)
    case .sensorOk: SensorStep.Kind.ok.text(language)
    case .sensorDiscard: SensorStep.Kind.discard.text(language)
    case .sensorRelease: SensorStep.Kind.release.text(language)
    case .sensorHour: SensorStep.Kind.hour.text(language)
    case .outOfStock: language("out of stock", "재료 부족")
    case .expired: language("expired", "유통기한 지남")
    case .removed: language("taken out", "꺼냄")
    }
  }
}
