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
