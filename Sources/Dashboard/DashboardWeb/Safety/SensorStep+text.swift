import Fleet
import JuiceDomain
import KioskProtocol

extension SensorStep {
  /// Returns the text of this step for a list of entries.
  func text(of kiosk: KioskState, _ language: Language) -> HTML {
    let fruits = fruits.map { kiosk.name(of: $0, language) }
    let blocked = (fruits + machines.map(\.text)).joined(separator: ", ")
    let value: HTML? = value.map { " · \($0.decimalText) \(unit.rawValue)" }
    let what: HTML? = blocked.isEmpty ? nil : " · \(blocked)"
    let gap: HTML? = gap.map { seconds in
      let minutes = seconds / 60
      let least = isGapInDoubt ? language("at least ", "최소 ") : ""
      return " · \(least)\(minutes)\(language(" min", "분"))"
    }
    let outside: HTML? = outsideInGap.map { seconds in
      " · \(language("counted as outside:", "벗어난 시간으로 계산:")) \(seconds / 60)\(language(" min", "분"))"
    }
    let word: HTML? = word.map { " · \($0)" }
    return "\(sensor.title(language)): \(kind.text(language))\(value)\(gap)\(outside)\(what)\(word)"
  }
}

extension SensorStep.Kind {
  func text(_ language: Language) -> String {
    switch self {
    case .alarm: language("outside its limits", "허용 범위를 벗어남")
    case .blocked: language("blocked", "차단됨")
    case .silent: language("no reading", "측정값 없음")
    case .gap: language("first reading after a gap", "공백 뒤 첫 측정값")
    case .ok: language("within its limits again", "정상으로 돌아옴")
    case .discard: language("discarded", "폐기함")
    case .release: language("released", "차단 해제")
    case .hour: language("readings of an hour", "한 시간 측정값")
    }
  }
}
