import JuiceDomain
import KioskProtocol

extension JobDecision.Choice {
  /// Returns the label of the button for a program.
  func programName(_ language: Language) -> String {
    switch self {
    case .poured: language("It was done", "완료했어요")
    case .again: language("Run again", "다시 실행")
    case .giveBack: language("It was not done", "완료 못 했어요")
    }
  }

  /// Returns the label of the button.
  func name(_ language: Language) -> String {
    switch self {
    case .poured: language("Poured", "나갔어요")
    case .again: language("Make again", "다시 만들기")
    case .giveBack: language("Return the fruit", "재료 되돌리기")
    }
  }
}
