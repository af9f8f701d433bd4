import JuiceDomain
import KioskProtocol

extension Removal.Reason {
  func text(_ language: Language) -> String {
    switch self {
    case .spoiled: language("spoiled", "상함")
    case .damaged: language("damaged", "손상")
    case .counted: language("there was less", "실제 수량 부족")
    case .givenAway: language("given away", "나눔")
    }
  }
}
