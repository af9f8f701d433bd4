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
