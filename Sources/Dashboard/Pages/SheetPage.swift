import Fleet
import JuiceDomain
import KioskMessages

/// The sheet of one kiosk, for the phone of whoever stands before it.
struct SheetPage {
  /// Why a sheet that somebody has just confirmed was not sent.
  enum Notice {
    case outdated, nothingToSend
    /// It was sent before, with other numbers than these.
    case others(Round.Visit)
  }

  let round: Round
  let sheet: Round.Sheet
  /// As it is now; `nil` if nobody knows it any more.
  let kiosk: KioskState?
  let trouble: String?
  let now: Timestamp
  let visit: PageContext
  /// The stock in the kiosk's answer: it is newer than the published one.
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
        \(notice.map(words))\(state)\(isOffline ? Notices.offline(language) : nil)
        \(content(filled ?? sheet.visit))
        </section>
        \(KeptSheets(visit: visit).html)
        """, live: sheet.visit?.isDone == true ? nil : "\(path)/live", scripts: [.roundScript])
  }

  var liveParts: [LivePart] { [Notices.broker(trouble, language)] + sheet.lines.map(ledger) }

  /// Tells the script what to do with the sheet that the browser has kept.
  private func outcome(_ notice: Notice?) -> String {
    switch notice {
    case .nothingToSend, .outdated: "again"
    case .others: sheet.visit?.outcome == .unknown ? "unknown" : "others"
    case nil: sheet.status
    }
  }

  private var isOffline: Bool { kiosk?.isOnline != true && sheet.visit?.isDone != true }

  private func words(_ notice: Notice) -> HTML {
    switch notice {
    case .outdated:
      language.notice(
        .warn,
        "This sheet was filled in on an old page. Nothing was sent: look at your numbers, and confirm them again.",
        "오래된 페이지에서 작성한 시트예요. 보내지 않았으니 수량을 보고 다시 확인해 주세요.")
    case .nothingToSend:
      language.notice(
        .warn, "There is nothing to send: say what you have brought or counted.",
        "보낼 것이 없어요. 채우거나 센 수량을 적어 주세요.")
    case .others(let visit):
      language.notice(
        .warn,
        "This sheet was sent before with other numbers, and they count. Yours were not sent: \(list(visit))",
        "다른 수량으로 이미 보낸 시트예요. 그 수량이 유효하고, 이 수량은 보내지 않았어요: \(list(visit))")
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
      let time = LocalTime(round.timeZone, now: now, language).html(visit.at)
      return .notice(
        .good, html: "\(language("Done.", "완료했어요."))\n\(visit.user), \(time)")
    case .unknown: return Notices.noAnswer(language)
    case .rejected(.conflict, _, let stock):
      return Notices.conflict(
        expected: visit.ledger, stock: stock,
        advice: language(
          "Count these again, or confirm your numbers all the same.",
          "다시 세어 보거나, 그래도 이 수량이 맞으면 확인해 주세요."), language, name: name)
    case .rejected(let reason, let detail, _):
      return Notices.rejected(reason.words(language), detail, language)
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
    \(visit.fields(id: sheet.command))
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
      \(HTML.hidden("ledger.\(fruit)", stock(of: fruit)))
      <label><span>\(language("Counted", "센 것"))</span>
      <input type="number" inputmode="numeric" min="0" name="counted.\(fruit)" value="\(counted)"></label>
      <label><span>\(language("Brought", "채운 것"))</span>
      <input type="number" inputmode="numeric" name="brought.\(fruit)" value="\(brought)"></label>
      </fieldset>

      """
  }

  /// The ledger's number of now.
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

  /// Sends the same numbers again, under the same id.
  private var again: HTML {
    let same = sheet.visit.map { visit in
      visit.brought.fields("brought") + visit.counted.fields("counted")
        + visit.ledger.fields("ledger")
    }
    return """
      <form method="post" action="\(path)" data-fill="\(sheet.title(language))">
      \(visit.fields(id: sheet.visit?.command))\(same ?? [])
      <div class="actions"><button class="primary">\(language("Send again", "다시 보내기"))</button></div>
      </form>
      """
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
    let heads = [
      language("Fruit", "과일"), language("Planned", "계획"), language("Brought", "채운 것"),
      language("Ledger", "장부"), language("Counted", "센 것"), language("Difference", "차이"),
    ]
    return "<div class=\"wide\">\(HTML.table(heads, rows, id: "summary"))</div>"
  }

  private func name(_ fruit: Fruit.ID) -> String {
    sheet.line(of: fruit)?.fruit.name[language] ?? fruit.text
  }
}
