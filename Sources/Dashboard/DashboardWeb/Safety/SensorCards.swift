import Fleet
import JuiceDomain
import KioskProtocol

/// The card with the state of a kiosk's sensors.
struct SensorCards {
  let kiosk: KioskState
  let localTime: LocalTime
  let context: PageContext

  private var language: Language { context.language }

  /// The state of the sensors, or an empty part if there are none.
  var sensors: LivePart {
    if kiosk.sensors.isEmpty { return LivePart("sensors", .empty) }
    let record: HTML = """
      <a class="button" href="/kiosks/\(kiosk.id)/safety">\(language("Record of food safety", "식품 안전 기록"))</a>
      """
    return LivePart(
      "sensors", tag: "section", class: "card",
      """
      <h2>\(language("Sensors", "센서"))</h2>
      <ul class="machines">\(kiosk.sensorReports.map(sensor))</ul>
      <div class="actions">\(record)</div>
      """)
  }

  private func sensor(_ name: SensorID, _ report: SensorReport) -> HTML {
    let style: HTML = report.needsAttention ? "bad" : report.state == .ok ? "good" : ""
    return """
      <li><div class="machine"><b>\(name.title(language))</b> <span class="chip \(style)">\(report.text(language))</span>
      <span class="muted"><span class="nowrap">\(report.valueText)</span> \(report.limits)\(reasons(report))</span></div></li>
      """
  }

  /// Returns why the state is not that of the reading, or `nil` if it is.
  private func reasons(_ report: SensorReport) -> HTML? {
    var reasons: [String] = []
    if report.isSilent, report.value != nil { reasons.append(language("old reading", "이전 측정값")) }
    if report.isWithin == true, report.state == .alarm {
      reasons.append(language("still near the limit", "아직 한계에 가까움"))
    }
    if report.isWithin == true, report.state == .blocked {
      reasons.append(
        language(
          "was outside or without readings: needs a decision",
          "범위를 벗어났거나 측정값이 없었음: 확인 필요"))
    }
    return reasons.isEmpty ? nil : " · \(reasons.joined(separator: " · "))"
  }
}

extension SensorReport {
  /// The limits on one line, such as `(≤ 7 °C)`, or empty markup.
  var limits: HTML {
    let text: String
    switch (minimum?.decimalText, maximum?.decimalText) {
    case (let minimum?, let maximum?): text = "\(minimum) – \(maximum)"
    case (let minimum?, nil): text = "≥ \(minimum)"
    case (nil, let maximum?): text = "≤ \(maximum)"
    case (nil, nil): return .empty
    }
    return "<span class=\"nowrap\">(\(text) \(unit.rawValue))</span>"
  }
}
