package import JuiceDomain

/// Texts for the customer, in English and Korean.
package enum CustomerMessage {
  package static func ready(_ juice: String, in language: Language) -> String {
    switch language {
    case .english: "\(juice) is ready. Enjoy!"
    case .korean: "\(juice) 나왔습니다! 맛있게 드세요!"
    }
  }

  package static func accepted(
    _ juice: String, ticket: Int, in language: Language
  ) -> String {
    switch language {
    case .english: "\(juice) is being made. Your number is \(ticket)."
    case .korean: "\(juice) 만들고 있습니다. 번호는 \(ticket)번입니다."
    }
  }

  package static func failed(_ juice: String, in language: Language) -> String {
    language("Sorry, \(juice) could not be made.", "죄송합니다. \(juice) 만들지 못했습니다.")
  }

  package static func machineDown(in language: Language) -> String {
    language("The machine is out of order.", "기계가 고장 났습니다.")
  }

  package static func cleaning(in language: Language) -> String {
    language(
      "The machine is being cleaned. Please try again later.",
      "기계를 청소하고 있습니다. 잠시 후 다시 주문해 주세요.")
  }

  package static func cleaningDue(in language: Language) -> String {
    language(
      "The machine must be cleaned first. Please try again later.",
      "기계를 먼저 청소해야 합니다. 잠시 후 다시 주문해 주세요.")
  }

  package static func blocked(in language: Language) -> String {
    language("This juice is not available now.", "지금은 이 주스를 주문할 수 없습니다.")
  }

  package static func outOfStock(in language: Language) -> String {
    language("Not enough fruit. Update the stock?", "재료가 모자라요. 재고를 수정할까요?")
  }

  package static func closed(in language: Language) -> String {
    language("We are closed right now.", "지금은 영업시간이 아닙니다.")
  }

  // MARK: Payment

  package static func pay(_ amount: Money, in language: Language) -> String {
    switch language {
    case .english: "\(amount.text(language)) at the terminal, please."
    case .korean: "단말기에서 \(amount.text(language)) 결제해 주세요."
    }
  }

  /// Returns the customer's text for an order that was not paid.
  ///
  /// - Parameters:
  ///   - end: The reason why the order ended.
  ///   - detail: The device's reason for a decline, or `nil` if it gives none.
  package static func notPaid(
    _ end: PaymentEnd, _ detail: String?, in language: Language
  ) -> String {
    let detail = detail.flatMap { declineReason($0, in: language) }
    return switch (end, language) {
    case (.declined, .english):
      "The payment was declined\(detail.map { ": \($0)" } ?? ""). Nothing was charged."
    case (.declined, .korean):
      "결제가 거절되었습니다\(detail.map { ": \($0)" } ?? ""). 청구된 금액은 없습니다."
    case (.notPaid, .english): "The order was not paid. Nothing was charged."
    case (.notPaid, .korean): "결제되지 않았습니다. 청구된 금액은 없습니다."
    case (.replaced, .english): "Your next order replaces this one. Nothing was charged."
    case (.replaced, .korean): "다음 주문으로 바뀌었습니다. 청구된 금액은 없습니다."
    case (.unknown, .english): "The terminal has failed. Please ask us before you pay again."
    case (.unknown, .korean): "단말기에 문제가 생겼습니다. 다시 결제하기 전에 직원에게 문의해 주세요."
    case (.wrongAmount, .english): "The terminal has failed. Your money is given back."
    case (.wrongAmount, .korean): "단말기에 문제가 생겼습니다. 결제 금액은 환불됩니다."
    }
  }

  /// Returns the reason of a decline in the customer's language if `juice-zvt` uses that reason,
  /// otherwise the device's text; or `nil` if the text is only `declined`.
  private static func declineReason(_ reason: String, in language: Language) -> String? {
    guard reason != "declined", language == .korean else {
      return reason == "declined" ? nil : reason
    }
    return switch reason {
    case "cancelled": "취소됨"
    case "timeout": "시간 초과"
    case "card cannot be read": "카드를 읽을 수 없음"
    case "not enough credit", "no credit": "잔액 부족"
    case "card expired": "유효 기간이 지난 카드"
    case "card not accepted": "사용할 수 없는 카드"
    case "PIN needed": "비밀번호 필요"
    case "amount is above the limit", "amount is too high": "한도 초과"
    default: reason
    }
  }

  package static func partlyMade(
    _ juice: String, _ made: Int, of quantity: Int, in language: Language
  ) -> String {
    language(
      "Sorry, only \(made) of \(quantity) \(juice) were made.",
      "죄송합니다. \(juice) \(quantity)잔 중 \(made)잔만 만들었습니다.")
  }

  package static func paymentDown(in language: Language) -> String {
    language("The card terminal is out of order.", "카드 단말기가 고장 났습니다.")
  }
}

extension PaymentReport {
  /// Returns the text for the customer at the device, or `nil` if there is none.
  package func message(in language: Language) -> String? {
    if state == .off { return CustomerMessage.paymentDown(in: language) }
    if let amount { return CustomerMessage.pay(amount, in: language) }
    return declined.map { CustomerMessage.notPaid(.declined, $0, in: language) }
  }
}

/// The reason why the payment of an order failed: the `failure` in the result of the order.
package enum PaymentEnd: String, CaseIterable, Hashable, Sendable {
  /// The customer or the device declined the payment.
  case declined
  /// The customer has not paid in time, or has waited too long for a free device.
  case notPaid = "not_paid"
  /// Another order of the same panel replaced the order before a card was presented.
  case replaced
  /// The device cannot determine the state of the charge, or has moved money without a request.
  case unknown = "payment_unknown"
  /// The device holds another amount than the kiosk requested.
  case wrongAmount = "wrong_amount"
}
