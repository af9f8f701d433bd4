import Fleet
import JuiceDomain
import KioskMessages

/// One round: what to load, and a sheet for each kiosk. It is also what is printed.
struct RoundPage {
  let round: Round
  let now: Timestamp
  let visit: PageContext

  private var language: Language { visit.language }
  private var moment: LocalTime { LocalTime(round.timeZone, now: now, language) }
  private var path: String { "/rounds/\(round.id)" }

  func page(notice: HTML? = nil) -> Page {
    let arrival = moment.text(round.plan.arrival)
    let title = language("Round of \(arrival)", "\(arrival) 순회")
    let delete: HTML = """
      <form method="post" action="\(path)/delete">\(visit.fields())
      <button>\(language("Delete the round", "순회 삭제"))</button></form>
      """
    let print: HTML = """
      <button type="button" data-print hidden>\(language("Print", "인쇄"))</button>
      """
    return Page(
      title: title,
      body: """
        <p class="path"><a href="/rounds">← \(language("Rounds", "순회"))</a></p>
        \(notice)
        <h1>\(title)</h1>
        <p class="muted">\(language("Must last until", "다음 순회:")) \(moment.text(round.plan.end)) · \
        \(language("margin", "여유")) \(round.plan.margin) % · \
        \(round.plan.fill == .capacity ? language("filled up", "가득 채움") : language("as needed", "필요한 만큼")) · \
        \(language("planned by", "계획:")) \(round.madeBy), \(moment.html(round.madeAt))</p>
        <div class="actions screen">\(print)
        <a class="button" href="\(path)/sheets.csv">\(language("Sheets as CSV", "시트 CSV"))</a>
        <a class="button" href="\(path)/load.csv">\(language("Load as CSV", "적재 CSV"))</a>
        \(visit.isOperator && !round.isBegun ? delete : .empty)</div>
        \(KeptSheets(visit: visit).html)
        <section class="card"><h2>\(language("Load", "적재"))</h2>\(load)</section>
        <div class="sheets">\(round.sheets.map(sheet))</div>
        """, live: "\(path)/live", scripts: [.roundScript])
  }

  var liveParts: [LivePart] { round.sheets.map(state) }

  private var load: HTML {
    let rows: [HTML] = round.load.map { load in
      let crates: HTML? = load.crates.map { "\($0) × \(load.crate ?? 0)" }
      return """
        <tr><th scope="row">\(load.fruit.name[language])</th><td>\(load.sum)</td>
        <td>\(crates ?? "–")</td><td><strong>\(load.amount)</strong></td></tr>

        """
    }
    return .table(
      [
        language("Fruit", "과일"), language("To bring", "채울 수량"), language("Crates", "상자"),
        language("Load", "적재"),
      ], rows, id: "load")
  }

  private func state(_ sheet: Round.Sheet) -> LivePart {
    LivePart("state-\(sheet.kiosk)", tag: "span", class: "chips", "\(sheet.chip(language))")
  }

  private func sheet(_ sheet: Round.Sheet) -> HTML {
    let rows: [HTML] = sheet.lines.map { line in
      let visit = sheet.visit
      return """
        <tr><th scope="row">\(line.fruit.name[language])</th><td>\(line.now)</td>
        <td>\(line.expected)\(line.isForecast ? .empty : "?")</td><td><strong>\(line.bring)</strong></td>
        <td class="blank">\(visit.map { "\($0.brought[line.fruit.id] ?? 0)" })</td>
        <td class="blank">\(visit.map { $0.counted[line.fruit.id].map { "\($0)" } ?? "" })</td></tr>

        """
    }
    let offline = language.notice(
      .hint, "It was offline when the round was planned: its stock may be old.",
      "계획할 때 오프라인이었어요. 재고가 오래된 값일 수 있어요.")
    let heads = [
      language("Fruit", "과일"), language("Now", "지금"), language("On arrival", "도착 시"),
      language("Bring", "가져갈 것"), language("Brought", "채운 것"), language("Counted", "센 것"),
    ]
    let unknown: HTML? =
      sheet.lines.allSatisfy(\.isForecast)
      ? nil
      : """
      <p class="muted">? \(language("no forecast: what was there then", "예측 없음: 당시 재고"))</p>
      """
    return """
      <section class="card sheet" aria-labelledby="sheet-\(sheet.kiosk)">
      <div class="title"><h2 id="sheet-\(sheet.kiosk)"><a data-sheet href="\(path)/kiosks/\(sheet.kiosk)">\(sheet.title(language))</a></h2>
      \(state(sheet).html)</div>
      <p class="muted">\(sheet.kiosk)\(sheet.place.map { " · \($0)" } ?? "")</p>
      \(sheet.wasOnline ? nil : offline)
      <div class="wide">\(HTML.table(heads, rows))</div>
      \(unknown)
      </section>

      """
  }
}

extension Round.Sheet {
  /// Its state, in a word for other programs.
  var status: String {
    switch visit?.outcome {
    case nil: "open"
    case .unknown: "unknown"
    case .applied: "applied"
    case .rejected: "rejected"
    }
  }

  func chip(_ language: Language) -> HTML {
    let (style, text): (HTML, String) =
      switch visit?.outcome {
      case nil: ("", language("open", "예정"))
      case .unknown: ("warn", language("no answer yet", "응답 대기"))
      case .applied: ("good", language("done", "완료"))
      case .rejected(.conflict, _, _): ("bad", language("stock has moved on", "재고 변경됨"))
      case .rejected: ("bad", language("rejected", "거절됨"))
      }
    return "<span class=\"chip \(style)\">\(text)</span>"
  }
}
