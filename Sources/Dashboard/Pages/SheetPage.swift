import Fleet
import JuiceDomain
import KioskMessages

/// The sheet of one kiosk, for the phone of whoever stands before it.
struct SheetPage {
  /// What has just been done.
  enum Notice {
    case outdated, nothingToSend
    /// The sheet was sent before, with other numbers than these.
    case others(Round.Visit)
  }

  let round: Round
  let sheet: Round.Sheet
  /// As it is now; `nil` if nobody knows it any more.
  let kiosk: KioskState?
  let trouble: String?
  let now: Timestamp
  let visit: PageContext
  /// What the kiosk has just answered: more recent than what it publishes.
  var heard: FruitAmounts = [:]

  private var language: Language { visit.language }
  private var path: String { "/rounds/\(round.id)/kiosks/\(sheet.kiosk)" }

  /// - Parameter filled: what stands in the fields; the plan if there is none.
  func page(_ notice: Notice? = nil, filled: Round.Visit? = nil) -> Page {
    let title = sheet.title(language)
    return Page(
      title: title,
      body: """
        <p class="path"><a href="/rounds/\(round.id)">← \(language("Round", "순회"))</a></p>
        \(Notices.broker(trouble, language).html)
        <section class="card narrow" data-outcome="\(outcome(notice))">
        <h1>\(title)</h1>
        <p class="muted">\(sheet.kiosk)\(sheet.place.map { " · \($0)" } ?? "")</p>
        \(notice.map(words))\(state)\(isOffline)
        \(content(filled ?? sheet.visit))
        </section>
        \(KeptSheets(visit: visit).html)
        """, live: sheet.visit?.isDone == true ? nil : "\(path)/live", scripts: [.roundScript])
  }

  var liveParts: [LivePart] { [Notices.broker(trouble, language)] + sheet.lines.map(ledger) }

  /// What the script does next.
  private func outcome(_ notice: Notice?) -> String {
    switch notice {
    case .nothingToSend, .outdated: "again"
    case .others: sheet.visit?.outcome == .unknown ? "unknown" : "others"
    case nil: sheet.status
    }
  }

  private var isOffline: HTML? {
    guard kiosk?.isOnline != true, sheet.visit?.isDone != true else { return nil }
    return """
      <p class="notice warn">\(language(
        "This kiosk is offline: it cannot answer before it is back.",
        "이 키오스크는 오프라인이라 돌아올 때까지 응답할 수 없어요."))</p>
      """
  }

  private func words(_ notice: Notice) -> HTML {
    switch notice {
    case .outdated:
      """
      <p class="notice warn" role="alert">\(language(
        "This sheet was filled in on an old page. Nothing was sent: look at your numbers, and confirm them again.",
        "오래된 페이지에서 작성한 시트예요. 보내지 않았으니 수량을 보고 다시 확인해 주세요."))</p>
      """
    case .nothingToSend:
      """
      <p class="notice warn" role="alert">\(language(
        "There is nothing to send: say what you have brought or counted.",
        "보낼 것이 없어요. 채우거나 센 수량을 적어 주세요."))</p>
      """
    case .others(let visit):
      """
      <p class="notice warn" role="alert">\(language(
        "This sheet was sent before with other numbers, and they count. Yours were not sent:",
        "다른 수량으로 이미 보낸 시트예요. 그 수량이 유효하고, 이 수량은 보내지 않았어요:"))
      \(list(visit))</p>
      """
    }
  }

  /// `Kiwi +5, Mango = 3`
  private func list(_ visit: Round.Visit) -> String {
    let counted = visit.counted.map { "\(name($0.fruit)) = \($0.amount)" }
    let brought = visit.brought.map { "\(name($0.fruit)) \(signed($0.amount))" }
    return (counted + brought).joined(separator: ", ")
  }

  private var state: HTML? {
    guard let visit = sheet.visit else { return nil }
    switch visit.outcome {
    case .applied:
      return """
        <p class="notice good" role="status">\(language("Done.", "완료했어요."))
        \(visit.user), \(LocalTime(round.timeZone, now: now, language).html(visit.at))</p>
        """
    case .unknown:
      return """
        <p class="notice warn" role="alert"><strong>\(language("No answer yet.", "아직 응답이 없어요."))</strong>
        \(language(
          "The kiosk may have done it or not. Sending it again is safe: it is done once.",
          "처리됐는지 아직 알 수 없어요. 다시 보내도 한 번만 처리되니 안심하세요."))</p>
        """
    case .rejected(.conflict, _, let stock):
      let moved: [HTML] = visit.ledger.compactMap { fruit, expected in
        guard let amount = stock[fruit], amount != expected else { return nil }
        return "<li>\(name(fruit)): \(expected) → <strong>\(amount)</strong></li>"
      }
      return """
        <div class="notice warn" role="alert"><strong>\(language(
          "The stock has moved on since you looked. Nothing was changed.",
          "그사이 재고가 바뀌어서 아무것도 변경하지 않았어요."))</strong>
        <ul>\(moved)</ul>
        \(language(
          "Count these again, or confirm your numbers all the same.",
          "다시 세어 보거나, 그래도 이 수량이 맞으면 확인해 주세요."))</div>
        """
    case .rejected(let reason, let detail, _):
      return """
        <p class="notice bad" role="alert"><strong>\(language(
          "Nothing was changed:", "아무것도 바뀌지 않았어요:"))</strong> \(reason.words(language)).
        <span class="muted">\(detail)</span></p>
        """
    }
  }

  private func content(_ filled: Round.Visit?) -> HTML {
    switch sheet.visit?.outcome {
    case .applied: return "\(summary)\(back)"
    case .unknown: return "\(summary)\(self.visit.isOperator ? again : .empty)\(back)"
    default: return self.visit.isOperator ? form(filled) : "\(summary)\(back)"
    }
  }

  private var back: HTML {
    """
    <p class="actions"><a href="/rounds/\(round.id)">\(language("To the other kiosks", "다른 키오스크로"))</a></p>
    """
  }

  private func form(_ filled: Round.Visit?) -> HTML {
    """
    <form method="post" action="\(path)" data-fill="\(sheet.title(language))">
    <input type="hidden" name="proof" value="\(visit.proof)">
    <input type="hidden" name="id" value="\(sheet.command)">
    \(sheet.lines.map { row($0, filled) })
    <p class="muted">\(language(
      "Leave “counted” empty where you have not counted. A minus takes away.",
      "세지 않은 과일은 ‘센 것’을 비워 두세요. 빼낸 과일은 음수로 적어요."))</p>
    <div class="actions"><button class="primary">\(language("Confirm", "확인"))</button></div>
    </form>
    """
  }

  private func row(_ line: Round.Line, _ filled: Round.Visit?) -> HTML {
    let fruit = line.fruit.id
    let name = line.fruit.name[language]
    let brought = filled.map { $0.brought[fruit] ?? 0 } ?? line.bring
    let counted = filled?.counted[fruit].map { String($0) } ?? ""
    return """
      <fieldset class="line"><legend>\(name)</legend>
      <span class="muted">\(language("planned", "계획")) \(line.bring) · \(ledger(line).html)</span>
      <input type="hidden" name="ledger.\(fruit)" value="\(stock(of: fruit))">
      <label><span>\(language("Counted", "센 것"))</span>
      <input type="number" inputmode="numeric" min="0" name="counted.\(fruit)" value="\(counted)"></label>
      <label><span>\(language("Brought", "채운 것"))</span>
      <input type="number" inputmode="numeric" name="brought.\(fruit)" value="\(brought)"></label>
      </fieldset>

      """
  }

  /// What the ledger says now.
  private func ledger(_ line: Round.Line) -> LivePart {
    let stock = stock(of: line.fruit.id)
    return LivePart(
      "ledger-\(line.fruit.id)", tag: "span",
      "\(language("ledger", "장부")) <b data-ledger=\"\(stock)\">\(stock.isEmpty ? "?" : stock)</b>")
  }

  /// Empty if nobody knows.
  private func stock(of fruit: Fruit.ID) -> String {
    (heard[fruit] ?? kiosk?.stock?.fruits[fruit]).map { String($0) } ?? ""
  }

  /// The same, under the same id.
  private var again: HTML {
    let same = sheet.visit.map { visit in
      fields("brought", visit.brought) + fields("counted", visit.counted)
        + fields("ledger", visit.ledger)
    }
    return """
      <form method="post" action="\(path)" data-fill="\(sheet.title(language))">
      <input type="hidden" name="proof" value="\(visit.proof)">
      <input type="hidden" name="id" value="\(sheet.visit?.command.text ?? "")">\(same ?? [])
      <div class="actions"><button class="primary">\(language("Send again", "다시 보내기"))</button></div>
      </form>
      """
  }

  private func fields(_ kind: String, _ amounts: FruitAmounts) -> [HTML] {
    amounts.map { fruit, amount in
      "<input type=\"hidden\" name=\"\(kind).\(fruit)\" value=\"\(amount)\">"
    }
  }

  private var summary: HTML {
    let done = sheet.visit
    let missing = done?.missing ?? [:]
    let rows: [HTML] = sheet.lines.map { line in
      let fruit = line.fruit.id
      func cell(_ number: Int?) -> HTML { number.map { "<td>\($0)</td>" } ?? "<td>–</td>" }
      let difference: HTML = missing[fruit].map { "<td>\(signed(-$0))</td>" } ?? "<td>–</td>"
      return """
        <tr><th scope="row">\(line.fruit.name[language])</th>\(cell(line.bring))\
        \(cell(done.map { $0.brought[fruit] ?? 0 }))\(cell(done?.ledger[fruit]))\
        \(cell(done?.counted[fruit]))\(difference)</tr>

        """
    }
    return """
      <div class="wide"><table class="review" id="summary"><thead><tr><th scope="col">\(language("Fruit", "과일"))</th>
      <th scope="col">\(language("Planned", "계획"))</th><th scope="col">\(language("Brought", "채운 것"))</th>
      <th scope="col">\(language("Ledger", "장부"))</th><th scope="col">\(language("Counted", "센 것"))</th>
      <th scope="col">\(language("Difference", "차이"))</th></tr></thead><tbody>\(rows)</tbody></table></div>
      """
  }

  private func name(_ fruit: Fruit.ID) -> String {
    sheet.line(of: fruit)?.fruit.name[language] ?? fruit.text
  }
}
