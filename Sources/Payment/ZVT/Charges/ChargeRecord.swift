package import JuiceDomain
package import KioskProtocol

/// The stored state of a charge.
package struct ChargeRecord: Hashable, Sendable {
  package enum State: String, CaseIterable, Sendable {
    /// The prompt was asked for; what became of it may not be known.
    case begun
    case held
    case declined
    /// The booking was asked for.
    case capturing
    case captured
    /// Giving back the hold was asked for, or the end of the prompt.
    case releasing
    case released
    case refunding
    case refunded
    /// The terminal cannot say what became of the charge.
    case unknown

    /// Whether a command that moves money was asked for and has no result yet.
    var isInProgress: Bool {
      switch self {
      case .begun, .capturing, .releasing, .refunding: true
      case .held, .declined, .captured, .released, .refunded, .unknown: false
      }
    }

    /// Whether nothing is held any more, and nothing is in progress.
    package var isFinal: Bool {
      switch self {
      case .declined, .captured, .released, .refunded: true
      case .begun, .held, .capturing, .releasing, .refunding, .unknown: false
      }
    }
  }

  /// The way in which the terminal holds the amount.
  package enum Method: String, CaseIterable, Sendable {
    /// An authorisation that waits until the goods are made.
    case goodsFirst = "goods_first"
    case reservation
  }

  package let charge: Int
  package let ticket: Int
  /// The amount asked for.
  package let price: Money
  package var method: Method
  package var state = State.begun
  /// The amount held.
  package var held: Int?
  /// The amount of which the booking was asked for.
  package var asked: Int?
  /// The amount booked for the kiosk.
  package var booked: Int?
  /// Whether the terminal has booked a payment (goods first) before the kiosk asked for it.
  package var isBookedEarly = false
  package var receipt: Int?
  package var trace: Int?
  package var terminal: String?
  package var card: String?
  package var last4: String?
  package var reason: String?

  /// Takes over what the terminal says of a result.
  mutating func take(_ fields: Fields) {
    receipt = fields.receipt ?? receipt
    trace = fields.trace ?? trace
    terminal = fields.terminal ?? terminal
    card = fields.cardName ?? card
    last4 = fields.last4 ?? last4
  }

  /// The report on this state.
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

  /// A charge that is never begun, because the kiosk asked for its end first.
  init(never charge: Int, _ currency: Currency, _ state: State) {
    self.init(
      charge: charge, ticket: 0, price: Money(units: 0, currency), method: .reservation,
      state: state)
  }
}
