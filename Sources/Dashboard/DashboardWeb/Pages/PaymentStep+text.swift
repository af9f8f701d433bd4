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
    case .kept: language("accepted as booked", "결제 확인")
    }
  }
}
