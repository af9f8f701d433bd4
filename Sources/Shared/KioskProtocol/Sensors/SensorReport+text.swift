package import JuiceDomain

extension SensorID {
  /// Returns the name of the sensor for people: its id, or a word for the kiosk's own one.
  package func title(_ language: Language) -> String {
    self == .clock ? language("clock", "시계") : text
  }
}

extension SensorReport {
  /// The value with its unit, or a dash.
  package var valueText: String { value.map { "\($0.decimalText) \(unit.rawValue)" } ?? "–" }

  package func text(_ language: Language) -> String {
    let state =
      switch state {
      case .unknown: language("no reading yet", "아직 측정값 없음")
      case .ok: language("within its limits", "정상")
      case .outside: language("outside its limits", "허용 범위를 벗어남")
      case .alarm: language("outside for too long", "허용 범위를 오래 벗어남")
      case .blocked: language("blocked", "차단됨")
      }
    return isSilent ? "\(language("silent", "응답 없음")) · \(state)" : state
  }
}

extension SensorStep.Kind {
  package func text(_ language: Language) -> String {
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
