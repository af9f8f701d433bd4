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
      <span class="muted"><span class="nowrap">\(report.valueText)</span> \(report.limits)</span></div></li>
      """
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
