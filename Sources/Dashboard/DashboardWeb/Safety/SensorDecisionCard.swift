import Fleet
import JuiceDomain
import KioskProtocol

/// The card with the blocks of sensors that need a person's decision: the value now, for how long it
/// was outside its limits, what is recommended, and the effect of each decision.
struct SensorDecisionCard {
  let kiosk: KioskState
  let localTime: LocalTime
  let context: PageContext

  private var language: Language { context.language }

  /// The card, or an empty part if nothing is blocked.
  var part: LivePart {
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
      <p class="actions"><a href="/kiosks/\(kiosk.id)/safety">\(language(
        "The readings, in the record of food safety", "측정값은 식품 안전 기록에 있어요"))</a></p>
      """)
  }

  private func blocked(_ name: SensorID, _ report: SensorReport) -> HTML {
    let what = (report.fruits.map { kiosk.name(of: $0, language) } + report.machines.map(\.text))
      .joined(separator: ", ")
    let episode = kiosk.episode(of: name)
    let discarded = episode.first { $0.step.kind == .discard }?.entry
    let hasFruit = report.fruits.contains { kiosk.stock?.fruits[$0] ?? 0 > 0 }
    let isDone = discarded != nil && !hasFruit
    let texts: [HTML?] =
      name == .clock
      ? [clock] : isDone ? [rest(discarded)] : [outside(episode, report), advice(report)]
    let paragraphs: [HTML] = texts.compactMap(\.self).map { "<p>\($0)</p>" }
    return """
      <li><span class="what">\(name.title(language)): \(what)</span>\(report.since.map(localTime.html))
      <p>\(name == .clock ? nil : now(report))</p>\(paragraphs)\(actions(name, canDiscard: !isDone))</li>
      """
  }

  private func now(_ report: SensorReport) -> HTML {
    let state =
      report.isSilent
      ? language("no reading now", "지금 측정값 없음")
      : report.isWithin.map {
        $0
          ? language("within its limits now", "지금은 정상")
          : language("outside its limits now", "지금 허용 범위를 벗어남")
      } ?? language("no reading yet", "아직 측정값 없음")
    return "<b class=\"nowrap\">\(report.valueText)</b> \(report.limits) · \(state)"
  }

  /// Returns for how long the value was outside its limits, or unknown, as far as the entries show.
  private func outside(
    _ episode: [(entry: LedgerEntry, step: SensorStep)], _ report: SensorReport
  ) -> HTML? {
    if let step = episode.first(where: { $0.step.gap != nil })?.step, let gap = step.gap {
      let length = language.length(ofMinutes: gap / 60)
      let counted: HTML? = step.outsideInGap.map { seconds in
        ", \(language("counted as outside:", "벗어난 시간으로 계산:")) \(language.length(ofMinutes: seconds / 60))"
      }
      return """
        \(language("No readings for at least", "측정값이 없던 시간:")) \(length)\(language("", " 이상"))\(counted)
        """
    }
    guard let start = episode.last?.entry.at ?? report.since else { return nil }
    let end = report.isWithin == true ? report.since ?? localTime.now : localTime.now
    let minutes = max(0, Int(clamping: end.since(start).components.seconds) / 60)
    let length =
      minutes > 0
      ? language(", for at least ", ", 최소 ") + language.length(ofMinutes: minutes) : ""
    return """
      \(language("Outside its limits, or without a reading, since before", "허용 범위를 벗어났거나 측정값 없음, 시작 이전:")) \
      \(localTime.html(start))\(length)
      """
  }

  /// Returns the recommendation, and the effect of each decision.
  private func advice(_ report: SensorReport) -> HTML {
    guard !report.fruits.isEmpty else {
      return "\(language("Release it when the cause is removed.", "원인을 없앤 뒤 차단을 해제해 주세요."))"
    }
    let amounts = report.fruits.compactMap { fruit in
      kiosk.stock?.fruits[fruit].map { language.amount($0, of: kiosk.name(of: fruit, language)) }
    }.joined(separator: ", ")
    return """
      <b>\(language("Recommended: discard,", "폐기를 권해요."))</b> \(language(
        "unless you have measured in the fruit itself that it stayed within the limits.",
        "과일 자체를 재서 허용 범위 안이었음을 확인한 경우만 해제하세요."))
      \(language(
        "Discard records \(amounts) as waste; it cannot be undone. New fruit stays blocked until the sensor is within its limits.",
        "폐기로 기록할 과일: \(amounts). 되돌릴 수 없어요. 새 과일은 센서가 정상이 될 때까지 차단돼요."))
      \(language("Release sells it again.", "해제하면 다시 판매해요."))
      """
  }

  /// Returns what remains to do after the fruit was discarded.
  private func rest(_ discarded: LedgerEntry?) -> HTML {
    let who: HTML? = discarded.map { entry in
      "\(language("Discarded", "폐기함")) \(localTime.html(entry.at)), \(entry.sender(language)). "
    }
    return """
      \(who)\(language(
        "What remains: take the fruit out, and repair the cooling. The block ends by itself when the sensor is within its limits; until then new fruit is not sold either.",
        "남은 일: 과일을 꺼내고 냉각을 고쳐 주세요. 센서가 정상이 되면 차단이 저절로 풀리고, 그때까지 새 과일도 팔지 않아요."))
      """
  }

  private var clock: HTML {
    """
    <span class="muted">\(language(
      "Nothing shows how long the computer was without power, or that its clock is right. "
        + "Release the fruit if the clock is right. With the network's time this ends by itself.",
      "컴퓨터의 전원이 꺼져 있었다면 얼마나 오래였는지, 시계가 맞는지 알 수 없어요. 시계가 맞으면 "
        + "차단을 해제해 주세요. 네트워크 시간을 받으면 저절로 풀려요."))</span>
    """
  }

  private func actions(_ name: SensorID, canDiscard: Bool) -> HTML? {
    guard context.isOperator else { return nil }
    let choices: [SensorDecision.Choice] = canDiscard ? [.discard, .release] : [.release]
    let buttons: [HTML] = choices.map { choice in
      let text = choice.name(language)
      return context.button(
        .sensor, "\(choice.rawValue).\(name)", text, label: "\(text): \(name.title(language))")
    }
    return """
      <div class="actions"><label>\(language("Reason", "사유")) <input id="word-\(name)" \
      form="send-sensor" name="word.\(name)" maxlength="\(SensorDecision.maximumWord)"\
      \(context.filled["word.\(name)"].map { " value=\"\($0)\"" as HTML })></label>
      \(buttons)</div>
      """
  }
}
