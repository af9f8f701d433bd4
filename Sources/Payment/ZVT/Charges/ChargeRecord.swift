package import JuiceDomain
package import KioskProtocol

/// The stored state of a charge. Integer amounts are in the smallest unit of the currency.
package struct ChargeRecord: Hashable, Sendable {
  package enum State: String, CaseIterable, Sendable {
    /// The kiosk has requested the charge; the result of the prompt may be unknown.
    case begun
    case held
    case declined
    /// The kiosk has requested the capture.
    case capturing
    case captured
    /// The kiosk or the device has requested the release of the hold, or the end of the prompt.
    case releasing
    case released
    case refunding
    case refunded
    /// The terminal's answers do not prove the state of the charge.
    case unknown

    /// Whether a requested hold, capture, release or refund has no result yet.
    var isInProgress: Bool {
      switch self {
      case .begun, .capturing, .releasing, .refunding: true
      case .held, .declined, .captured, .released, .refunded, .unknown: false
      }
    }

    /// Whether the state is known, no amount is held and no command is in progress.
    package var isFinal: Bool {
      switch self {
      case .declined, .captured, .released, .refunded: true
      case .begun, .held, .capturing, .releasing, .refunding, .unknown: false
      }
    }
  }

  /// The way in which the terminal holds the amount.
  package enum Method: String, CaseIterable, Sendable {
    /// An authorisation that the terminal completes when the goods are made.
    case goodsFirst = "goods_first"
    case reservation
  }

  package let charge: Int
  package let ticket: Int
  /// The amount of the requested hold, or 0 in a record of `init(never:_:_:)`.
  package let price: Money
  package var method: Method
  package var state = State.begun
  /// The held amount, or `nil` if none was held.
  package var held: Int?
  /// The amount of the last requested capture, or `nil` if none was requested.
  package var asked: Int?
  /// The captured amount.
  package var booked: Int?
  /// Whether the terminal did not wait for the goods of a `goodsFirst` payment, or a review found the
  /// payment completed. Only a reversal releases such a payment.
  package var isBookedEarly = false
  package var receipt: Int?
  package var trace: Int?
  /// The time of the result by the terminal's clock; see `Fields.moment`.
  package var moment: String?
  /// The number of ends of day that the device knew of when it took the result; see `ChargeJournal.Day`.
  package var closings = 0
  /// The result of the release or refund, or `nil` if there is none.
  var reversal: ChargeJournal.ResultID?
  package var terminal: String?
  package var card: String?
  package var last4: String?
  package var reason: String?

  /// Replaces the receipt data with the fields that a result contains.
  mutating func take(_ fields: Fields) {
    receipt = fields.receipt ?? receipt
    trace = fields.trace ?? trace
    moment = fields.moment ?? moment
    terminal = fields.terminal ?? terminal
    card = fields.cardName ?? card
    last4 = fields.last4 ?? last4
  }

  /// The answer that reports this state.
  package var answer: PaymentAnswer {
    func money(_ units: Int?) -> Money { Money(units: units ?? price.units, price.currency) }
    let status: PaymentAnswer.Status =
      switch state {
      case .begun: .waiting(isPresented: false)
      case .held, .capturing: .held(money(held))
      case .declined: .declined
      case .captured, .refunding: .captured(money(booked))
      case .releasing: held == nil ? .waiting(isPresented: false) : .held(money(held))
      case .released: .released
      case .refunded: .refunded(money(booked))
      case .unknown: .unknown
      }
    let receipt =
      if case .waiting = status { Receipt() } else {
        Receipt(
          receipt: receipt.map(String.init), trace: trace.map(String.init), terminal: terminal,
          card: card, last4: last4)
      }
    return PaymentAnswer(
      charge: charge, status: status, receipt: receipt, reason: reason?.visible(upTo: 64))
  }
}

extension ChargeRecord {
  package init(_ request: ChargeRequest, _ method: Method) {
    self.init(
      charge: request.charge, ticket: request.ticket, price: request.amount, method: method)
  }

  /// Creates the record of a charge that never begins, because its release, capture or refund arrived first.
  init(never charge: Int, _ currency: Currency, _ state: State) {
    self.init(
      charge: charge, ticket: 0, price: Money(units: 0, currency), method: .reservation,
      state: state)
  }
}
