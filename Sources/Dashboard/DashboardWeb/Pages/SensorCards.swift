import Fleet
import JuiceDomain
import KioskProtocol

/// The cards with the state of a kiosk's sensors, and with the decisions about their blocks.
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
    let limits =
      switch (report.minimum?.decimalText, report.maximum?.decimalText) {
      case (let minimum?, let maximum?): "(\(minimum) – \(maximum))"
      case (let minimum?, nil): "(≥ \(minimum))"
      case (nil, let maximum?): "(≤ \(maximum))"
      case (nil, nil): ""
      }
    return """
      <li><div class="machine"><b>\(name)</b> <span class="chip \(style)">\(report.text(language))</span>
      <span class="muted">\(report.valueText) \(limits)</span></div></li>
      """
  }

  /// The blocks that need a decision, or an empty part. The part omits the current value: a new
  /// reading would replace the part and delete the text that a person types.
  var decisions: LivePart {
    let blocking = kiosk.sensorReports.filter { $0.report.state == .blocked }
    if blocking.isEmpty { return LivePart("sensor-decisions", .empty) }
    return LivePart(
      "sensor-decisions", tag: "section", class: "card ask",
      """
      <h2>\(language("Blocked by a sensor", "센서가 차단함"))</h2>
      <p class="muted">\(language(
        "None of it is sold. Check it, then discard or release it; your reason is recorded.",
        "판매하지 않아요. 확인한 뒤 폐기하거나 차단을 해제해 주세요. 사유가 기록돼요."))</p>
      <ul class="feed">\(blocking.map { blocked($0.sensor, $0.report) })</ul>
      """)
  }

  private func blocked(_ name: SensorID, _ report: SensorReport) -> HTML {
    let what = (report.fruits.map { kiosk.name(of: $0, language) } + report.machines.map(\.text))
      .joined(separator: ", ")
    let buttons: [HTML] = [SensorDecision.Choice.discard, .release].map { choice in
      let text = choice.name(language)
      return context.button(
        .sensor, "\(choice.rawValue).\(name)", text, label: "\(text): \(name)")
    }
    let actions: HTML? =
      context.isOperator
      ? """
      <div class="actions"><label>\(language("Reason", "사유")) <input id="word-\(name)" \
      form="send-sensor" name="word.\(name)" maxlength="\(SensorDecision.maximumWord)"\
      \(context.filled["word.\(name)"].map { " value=\"\($0)\"" as HTML })></label>
      \(buttons)</div>
      """ : nil
    let clock: HTML? =
      name == .clock
      ? """
      <p class="muted">\(language(
        "The computer had no power, and nothing shows for how long, or that its clock is right. "
          + "Release the fruit if the clock is right. With the network's time this ends by itself.",
        "컴퓨터의 전원이 얼마나 오래 꺼져 있었는지, 시계가 맞는지 알 수 없어요. 시계가 맞으면 "
          + "차단을 해제해 주세요. 네트워크 시간을 받으면 저절로 풀려요."))</p>
      """ : nil
    return """
      <li><span class="what">\(name): \(what)</span>\(report.since.map(localTime.html))\(clock)\(actions)</li>
      """
  }
}

extension SensorReport {
  /// The value with its unit, or a dash.
  var valueText: String { value.map { "\($0.decimalText) \(unit.rawValue)" } ?? "–" }

  func text(_ language: Language) -> String {
    let state =
      switch state {
      case .unknown: language("no reading yet", "아직 측정값 없음")
      case .ok: language("within its limits", "정상")
      case .outside: language("outside its limits", "한계를 벗어남")
      case .alarm: language("outside for too long", "오래 벗어남")
      case .blocked: language("blocked", "차단됨")
      }
    return isSilent ? "\(language("silent", "응답 없음")) · \(state)" : state
  }
}
