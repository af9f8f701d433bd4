package import JuiceDomain

/// The state of a customer's money after an order that was not made, or not completely, as the
/// ledger records it.
package enum MoneyEnd: Hashable, Sendable {
  /// The customer pays nothing, and no amount has to be released or refunded.
  case nothing
  /// No amount was held.
  case notCharged
  /// The held amount will be released.
  case releasing
  case released
  /// The captured amount will be refunded.
  case refunding
  case refunded
  /// The customer pays only for the glasses that were made.
  case pays(Money)
  /// A person must decide about the money.
  case undecided

  /// Returns the sentence for the customer.
  package func text(_ language: Language) -> String {
    switch (self, language) {
    case (.nothing, .english): "You pay nothing."
    case (.nothing, .korean): "결제되지 않습니다."
    case (.notCharged, .english): "Nothing was charged."
    case (.notCharged, .korean): "청구된 금액은 없습니다."
    case (.releasing, .english): "You pay nothing: the money is being released."
    case (.releasing, .korean): "결제되지 않습니다. 승인을 취소하고 있습니다."
    case (.released, .english): "You pay nothing: the money is released."
    case (.released, .korean): "결제되지 않습니다. 승인이 취소되었습니다."
    case (.refunding, .english): "You pay nothing: the money is being refunded."
    case (.refunding, .korean): "결제되지 않습니다. 환불하고 있습니다."
    case (.refunded, .english): "You pay nothing: the money is refunded."
    case (.refunded, .korean): "결제되지 않습니다. 환불되었습니다."
    case (.pays(let amount), .english): "You pay \(amount.text(language))."
    case (.pays(let amount), .korean): "\(amount.text(language))만 결제됩니다."
    case (.undecided, .english): "Please ask us about your money."
    case (.undecided, .korean): "결제 금액은 직원에게 문의해 주세요."
    }
  }
}
