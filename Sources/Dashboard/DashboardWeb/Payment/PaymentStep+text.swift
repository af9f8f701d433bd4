import JuiceDomain
import KioskProtocol

extension PaymentStep.Kind {
  func text(_ language: Language) -> String {
    switch self {
    case .held: language("held", "승인됨")
    case .captured: language("captured", "결제됨")
    case .released: language("released", "승인 취소됨")
    case .refunded: language("refunded", "환불됨")
    case .capture: language("capture requested", "결제 요청")
    case .release: language("release requested", "승인 취소 요청")
    case .refund: language("refund requested", "환불 요청")
    case .kept: language("accepted as captured", "결제 확인")
    case .paidBack: language("given back in cash", "현금으로 돌려줌")
    case .writtenOff: language("written off", "손실 처리")
    }
  }
}

extension ChargeDecision.Choice {
  /// Returns the wording for the result.
  func text(_ language: Language) -> String {
    switch self {
    case .refund: PaymentStep.Kind.refund.text(language)
    case .capture: PaymentStep.Kind.capture.text(language)
    case .release: PaymentStep.Kind.release.text(language)
    case .captured: language("recorded as captured", "결제됨으로 기록")
    case .released: language("recorded as not captured", "결제 안 됨으로 기록")
    case .refunded: language("recorded as refunded", "환불됨으로 기록")
    case .cash: language("recorded as given back in cash", "현금으로 돌려줌으로 기록")
    case .writeOff: PaymentStep.Kind.writtenOff.text(language)
    }
  }

  /// Returns the label of the button: a request to the device, or the state of the charge that a
  /// person has found out.
  func name(_ language: Language) -> String {
    switch self {
    case .refund: language("Refund", "환불하기")
    case .capture: language("Capture it", "결제하기")
    case .release: language("Release it", "승인 취소하기")
    case .captured: language("Is captured", "결제되어 있음")
    case .released: language("Is not captured", "결제 안 됨")
    case .refunded: language("Is refunded", "환불되어 있음")
    case .cash: language("Given back in cash", "현금으로 돌려줌")
    case .writeOff: language("Write off", "손실 처리하기")
    }
  }

  /// Returns the effect of the button.
  func explanation(_ language: Language) -> String {
    switch self {
    case .refund:
      language(
        "Asks the terminal to give the money back.", "단말기에 환불을 요청해요.")
    case .capture:
      language(
        "Asks the terminal to take the money that the card has promised. For a juice that the customer has.",
        "승인된 금액을 결제하도록 단말기에 요청해요. 손님이 쥬스를 받았을 때 눌러 주세요.")
    case .release:
      language(
        "Asks the terminal to take no money. For a juice that the customer does not have.",
        "승인을 취소하도록 단말기에 요청해요. 손님이 쥬스를 받지 못했을 때 눌러 주세요.")
    case .captured:
      language(
        "Records that the terminal's journal shows the payment as taken. Asks the terminal for nothing.",
        "단말기 기록에 결제된 것으로 나와요. 기록만 하고 단말기에는 요청하지 않아요.")
    case .released:
      language(
        "Records that the terminal's journal shows no payment. Asks the terminal for nothing.",
        "단말기 기록에 결제가 없어요. 기록만 하고 단말기에는 요청하지 않아요.")
    case .refunded:
      language(
        "Records that the terminal's journal shows the refund. Asks the terminal for nothing.",
        "단말기 기록에 환불된 것으로 나와요. 기록만 하고 단말기에는 요청하지 않아요.")
    case .cash:
      language(
        "Records that you have given the money back in cash.", "현금으로 돌려준 것을 기록해요.")
    case .writeOff:
      language(
        "Gives the money up: the customer has the juice, and pays nothing.",
        "받지 못한 금액으로 기록해요. 손님은 쥬스를 받았고 결제는 없어요.")
    }
  }
}

extension PaymentReport.State {
  func text(_ language: Language) -> String {
    switch self {
    case .idle: language("ready", "준비됨")
    case .waiting: language("waiting for a card", "카드 기다리는 중")
    case .busy: language("busy", "처리 중")
    case .off: language("out of order", "고장")
    }
  }
}

extension PaymentReport.Charge {
  /// Returns the question that a person has to answer.
  func question(_ language: Language) -> String {
    switch request {
    case _ where job == nil:
      language("the kiosk has no order for it", "키오스크에 주문 기록이 없어요")
    case .capture: language("the juice was made: is it paid?", "음료가 나갔어요. 결제되었나요?")
    case .release:
      language("the juice was not made: is it paid?", "음료가 나가지 않았어요. 결제되었나요?")
    case .refund: language("is it refunded?", "환불되었나요?")
    case .state, .open, nil: language("is it paid?", "결제되었나요?")
    }
  }
}

extension Language {
  /// Returns the reason why a person must decide: a text for the kiosk's own reasons, a device's
  /// reason unchanged.
  func chargeReason(_ reason: String) -> String {
    switch reason {
    case "no answer": self("the device does not answer", "단말기 응답 없음")
    case "no order": self("held without an order", "주문 없이 승인됨")
    case "made, not paid": self("the hold ended before it was captured", "결제 전에 승인이 끝남")
    case "captured, written off": self("captured, and written off before", "손실 처리 뒤에 결제됨")
    case "captured, not made": self("captured, and not made", "결제되었지만 만들지 못함")
    case "unknown": self("the device cannot find it out", "단말기도 알 수 없음")
    default: reason
    }
  }
}
