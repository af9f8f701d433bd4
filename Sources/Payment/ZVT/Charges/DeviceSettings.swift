package import JuiceDomain
import KioskProtocol

/// The settings of a payment device, including the features in which terminals differ.
package struct DeviceSettings: Sendable {
  /// The way in which amounts are held.
  package enum Mode: String, CaseIterable, Sendable {
    /// Goods first for one glass that a machine makes while the terminal asks, or on a terminal without
    /// reservations; otherwise a reservation.
    case auto
    case goodsFirst = "goods_first"
    case reservation
  }

  /// The command that captures a reservation, in whole or in part.
  package enum Capture: String, CaseIterable, Sendable {
    case partialReversal = "partial_reversal"
    case bookTotal = "book_total"
  }

  /// The treatment of reservations that belong to no charge.
  package enum ForeignHolds: String, CaseIterable, Sendable {
    case fault, release, ignore
  }

  /// The payments that the terminal can cancel.
  package enum Reversal: String, CaseIterable, Sendable {
    case any, last
  }

  package var currency = Currency.euro
  /// The ISO 4217 number of the currency.
  package var currencyNumber = 978
  package var password = 0
  /// The configuration byte of the registration.
  package var configuration: UInt8 = 0xDE
  /// Whether the registration contains a TLV container, unless the terminal has refused such a registration.
  package var hasContainer = true
  /// The payment type of reservations; with `0x40` the terminal chooses.
  package var paymentType: UInt8 = 0x40
  package var mode = Mode.auto
  /// Maximum number of times that the terminal asks whether the goods are made.
  package var asks: UInt8 = 10
  /// The time for which the device holds back its answer to such a question, in seconds. It must be
  /// shorter than the time for which the terminal waits for an answer.
  package var secondsPerAsk = 2 {
    didSet { session.questionDelay = .seconds(secondsPerAsk) }
  }
  package var capture = Capture.partialReversal
  package var repeatsReceipt = true
  package var canAbort = true
  /// Whether the terminal can capture a part of a `goodsFirst` payment.
  package var booksInPart = false
  package var reversal = Reversal.any
  package var showsText = true
  package var foreignHolds = ForeignHolds.fault
  /// The time between two status enquiries to an idle terminal.
  package var enquiry = Duration.seconds(60)
  package var session = TerminalSession.Settings()

  package init() {}

  /// Returns the way in which the amount of a request is held.
  ///
  /// - Parameter patience: The time for which the terminal waits for the goods.
  func method(of request: ChargeRequest, patience: Duration) -> ChargeRecord.Method {
    switch mode {
    case .goodsFirst: .goodsFirst
    case .reservation: .reservation
    case .auto:
      request.quantity == 1 && request.readySeconds > 0 && .seconds(request.readySeconds) < patience
        ? .goodsFirst : .reservation
    }
  }

  /// The time for which the terminal waits for the goods at least: each question is held back.
  package var patience: Duration { .seconds(Int(asks) * secondsPerAsk) }
}

extension Currency {
  /// The ISO 4217 number of a currency that ZVT terminals use, or `nil` for any other currency.
  package var number: Int? {
    switch code {
    case "EUR": 978
    case "CHF": 756
    case "GBP": 826
    case "USD": 840
    case "DKK": 208
    case "NOK": 578
    case "SEK": 752
    case "PLN": 985
    case "CZK": 203
    case "HUF": 348
    case "RON": 946
    case "KRW": 410
    case "JPY": 392
    default: nil
    }
  }
}
