/// A command of the cash register, which is this program, to the terminal. Amounts are in the
/// smallest unit of the currency, and `currency` is the ISO 4217 number.
package enum TerminalCommand: Hashable, Sendable {
  case register(password: Int, configuration: UInt8, currency: Int, hasContainer: Bool)
  /// Requests a payment, which the terminal captures at once or when the goods are made (`Goods`).
  ///
  /// - Parameter asks: Maximum number of times that the terminal asks whether the goods are made.
  case authorise(amount: Int, asks: UInt8)
  case reserve(amount: Int, currency: Int, paymentType: UInt8)
  /// Releases `amount` of a reservation, and captures the rest.
  case reverseInPart(receipt: Int, amount: Int, currency: Int, paymentType: UInt8)
  /// Captures `amount` of a reservation, and releases the rest.
  case bookTotal(receipt: Int, amount: Int)
  case releaseReservation(receipt: Int, currency: Int, paymentType: UInt8)
  /// Cancels a payment before the end of day.
  case reverse(password: Int, receipt: Int)
  case openReservations
  case repeatReceipt(password: Int)
  case enquireStatus(password: Int)
  case endOfDay(password: Int)
  case display(lines: [String], seconds: UInt8)

  package func packet(_ text: TerminalText) -> APDU {
    func amount(_ amount: Int) -> [UInt8] { [0x04] + BCD.bytes(amount, count: 6) }
    func receipt(_ receipt: Int) -> [UInt8] { [0x87] + BCD.bytes(receipt, count: 2) }
    func currency(_ currency: Int) -> [UInt8] { [0x49] + BCD.bytes(currency, count: 2) }
    func password(_ password: Int) -> [UInt8] { BCD.bytes(password, count: 3) }
    func type(_ type: UInt8) -> [UInt8] { [0x19, type] }
    var data: [UInt8]
    switch self {
    case .register(let secret, let configuration, let code, let hasContainer):
      data = password(secret)
      data.append(configuration)
      data += BCD.bytes(code, count: 2)
      // The container lists one command that the terminal may send, a block to print (06 D3).
      if hasContainer { data += [0x06, 0x06, 0x26, 0x04, 0x0A, 0x02, 0x06, 0xD3] }
    case .authorise(let sum, let asks):
      data = amount(sum)
      data += [0x02, asks]
    case .reserve(let sum, let code, let paymentType):
      data = amount(sum)
      data += currency(code)
      data += type(paymentType)
    case .reverseInPart(let number, let sum, let code, let paymentType):
      data = receipt(number)
      data += amount(sum)
      data += currency(code)
      data += type(paymentType)
    case .bookTotal(let number, let sum):
      data = receipt(number)
      data += amount(sum)
    case .releaseReservation(let number, let code, let paymentType):
      data = receipt(number)
      data += currency(code)
      data += type(paymentType)
    case .reverse(let secret, let number):
      data = password(secret)
      data += receipt(number)
    case .openReservations: data = [0x87, 0xFF, 0xFF]
    case .repeatReceipt(let secret), .enquireStatus(let secret), .endOfDay(let secret):
      data = password(secret)
    case .display(let lines, let seconds):
      data = [0xF0, seconds]
      for (id, line) in zip(UInt8(0xF1)...0xF8, lines) {
        let encoded = text.encode(line, upTo: 24)
        data += [id, 0xF0 + UInt8(encoded.count / 10), 0xF0 + UInt8(encoded.count % 10)]
        data += encoded
      }
    }
    return APDU(control, data)
  }

  private var control: UInt16 {
    switch self {
    case .register: 0x0600
    case .authorise: 0x0601
    case .reserve: 0x0622
    case .reverseInPart, .openReservations: 0x0623
    case .bookTotal: 0x0624
    case .releaseReservation: 0x0625
    case .reverse: 0x0630
    case .repeatReceipt: 0x0620
    case .enquireStatus: 0x0501
    case .endOfDay: 0x0650
    case .display: 0x06E0
    }
  }

  var isEnquiry: Bool { if case .enquireStatus = self { true } else { false } }

  /// The name of the command in messages for the operator.
  package var name: String {
    switch self {
    case .register: "registration"
    case .authorise: "authorisation"
    case .reserve: "reservation"
    case .reverseInPart: "partial reversal"
    case .bookTotal: "book total"
    case .releaseReservation: "reservation reversal"
    case .reverse: "reversal"
    case .openReservations: "enquiry of open reservations"
    case .repeatReceipt: "repeat receipt"
    case .enquireStatus: "status enquiry"
    case .endOfDay: "end of day"
    case .display: "display text"
    }
  }
}

/// The answer of the register to the status information of an authorisation that waits for the
/// goods.
package enum Goods: Hashable, Sendable {
  case beingMade
  case made
  case notMade
  /// Made in part: the terminal captures this amount, in the smallest unit of the currency.
  case madeInPart(amount: Int)

  package var answer: APDU {
    switch self {
    case .beingMade: APDU(0x849C)
    case .made: .acknowledgement
    case .notMade: APDU(0x8466)
    case .madeInPart(let amount): APDU(0x849D, [0x04] + BCD.bytes(amount, count: 6))
    }
  }
}
