import JuiceDomain
import KioskProtocol

extension RejectionReason {
  func text(_ language: Language) -> String {
    switch self {
    case .unknownJuice: language("not on the menu", "메뉴에 없는 쥬스")
    case .unknownFruit: language("the kiosk has no such fruit", "키오스크에 없는 과일")
    case .malformed: language("the command cannot be read", "읽을 수 없는 명령")
    case .tooLarge: language("the command is too long", "너무 긴 명령")
    case .quantityOutOfRange: language("this quantity cannot be ordered", "한 번에 주문할 수 없는 수량")
    case .stale: language("the command arrived too late", "너무 늦게 도착한 명령")
    case .retained: language("the broker had retained the command", "브로커에 남아 있던 명령")
    case .rateLimited: language("too many commands in a short time", "너무 잦은 명령")
    case .closed: language("the kiosk is closed", "영업 종료")
    case .conflict: language("the stock has changed", "그사이 재고가 바뀜")
    case .exceedsCapacity: language("more than the capacity", "최대 수량 초과")
    case .belowZero: language("less than 0", "0보다 적은 수량")
    case .blocked: language("blocked by a sensor", "센서가 차단함")
    case .expired: language("it would be expired", "유통기한이 지난 과일")
    case .machineDown: language("the machine is out of order", "기계 고장")
    case .cleaningDue: language("the machine must be cleaned first", "기계 청소 필요")
    case .unknownMachine: language("the kiosk has no such machine", "키오스크에 없는 기계")
    case .paymentDown: language("the card terminal is out of order", "카드 단말기 고장")
    case .unknownDevice: language("the kiosk has no such payment device", "키오스크에 없는 결제 기기")
    case .unknownCharge: language("the kiosk has no such charge", "키오스크에 없는 결제")
    case .wrongAmount: language("the amount is wrong", "잘못된 금액")
    case .noDecisionNeeded: language("this needs no decision", "확인이 필요 없는 작업")
    case .notRecorded: language("the ledger cannot record the command", "기록할 수 없는 명령")
    }
  }
}
