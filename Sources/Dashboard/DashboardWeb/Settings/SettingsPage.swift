import Fleet
import JuiceDomain
import KioskProtocol
import MessageBroker

/// The page that changes the prices, capacities, low marks and opening hours of one or several
/// kiosks, and which juices they sell.
struct SettingsPage {
  let kiosk: KioskState
  let others: OtherKiosks
  let connectionError: BrokerError?
  let now: Timestamp
  let context: PageContext
  /// The values of the query, or of a form that not every kiosk has applied; otherwise `nil`.
  /// Changed values fill the fields; the other fields show the values in force.
  var filled: Form?
  /// Whether the user must confirm the change of a number.
  var mustConfirm = false
  /// The id of the command, which is equal for each attempt to send it.
  var id = CommandID.random

  var language: Language { context.language }
  private var path: String { "/kiosks/\(kiosk.id)/settings" }
  private var localTime: LocalTime { LocalTime(kiosk.timeZone, now: now, language) }

  func page(notice: HTML? = nil) -> Page {
    let title = language("Settings", "설정")
    return Page(
      title: "\(title) · \(kiosk.title(language))",
      body: """
        <p class="path"><a href="/kiosks/\(kiosk.id)">← \(kiosk.title(language))</a></p>
        <h1>\(title)</h1>
        \(notice.map(HTML.result))\(CommonNotices.broker(connectionError, language).html)
        \(kiosk.isOnline ? nil : CommonNotices.offline(language))
        \(state)
        \(form)
        """, timeZone: kiosk.timeZone)
  }

  /// The values that replace those of the kiosk's file, and the button that drops them.
  private var state: HTML {
    guard let stored = kiosk.settings?.stored, !stored.change.isEmpty else {
      return """
        <p class="muted">\(language(
          "All values are those of the kiosk's file. What you save here replaces them.",
          "지금은 모두 키오스크 파일의 값이에요. 여기서 저장하면 그 값을 대신해요."))</p>
        """
    }
    let unused: [HTML] = (kiosk.settings?.unused ?? []).map { HTML.notice(.warn, $0) }
    return """
      <section class="card"><h2>\(language("Differs from the file", "파일과 다른 값"))</h2>
      <p>\(stored.by), \(localTime.html(stored.at)): \(words(stored.change))</p>\(unused)
      <form method="post" action="\(path)">\(context.fields(id: .random))\(kiosk.replacesField)
      <button name="do" value="drop">\(language("Drop: use the file's values", "파일의 값으로 되돌리기"))</button></form>
      </section>
      """
  }

  /// The question before the changes are removed, which lists them.
  var dropQuestion: HTML {
    Self.question(
      Self.words(from: kiosk, to: SettingsChange(), language), at: kiosk, path, "drop",
      language("Use the file's values", "파일의 값으로 되돌리기"), context)
  }

  private var form: HTML {
    guard let base = kiosk.baseMenu else {
      return """
        <p class="empty">\(language("The kiosk has not sent its menu yet.", "아직 메뉴를 받지 못했어요."))</p>
        """
    }
    return """
      <form method="post" action="\(path)" class="settings">
      \(context.fields(id: id))\(kiosk.replacesField)
      <div class="columns"><div class="column">
      <section class="card"><h2>\(language("Juices", "쥬스"))</h2>\(currencyField)
      \(base.menu.juices.map(juice))</section>
      \(others.card(filled, language, givesPrices: true))
      </div><div class="column">
      <section class="card"><h2>\(language("Fruits", "과일"))</h2>\(base.menu.fruits.map(fruit))</section>
      \(hours)
      </div></div>
      <div class="actions">\(confirmation)<button class="primary" name="do" value="save">\(language("Save", "저장"))</button></div>
      </form>
      """
  }

  private var confirmation: HTML? { mustConfirm ? Self.confirmation(language) : nil }

  /// The box to tick for a number that changes much.
  static func confirmation(_ language: Language) -> HTML {
    """
    <label class="choice"><input type="checkbox" name="sure" value="1"> \
    \(language("The numbers are right", "숫자가 맞아요"))</label>
    """
  }

  private var currencyField: HTML? {
    guard kiosk.currency == nil else { return nil }
    return """
      <label class="line">\(language("Currency of the prices, such as EUR", "가격의 통화 (예: KRW)"))
      <input name="currency" maxlength="3" autocapitalize="characters" value="\(filled?["currency"] ?? "")"></label>
      """
  }

  private func field(_ name: String, _ now: String?) -> (value: String?, was: HTML?) {
    (filled ?? Form("")).field(name, now)
  }

  private func juice(_ juice: Juice) -> HTML {
    let name = juice.name[language]
    let price = kiosk.price(of: juice.id)
    let priceField = field("price.\(juice.id)", price?.text ?? "")
    let disabled = field(
      "disabled.\(juice.id)", kiosk.change.disabled.contains(juice.id) ? "1" : nil)
    let label = language("Price", "가격")
    return """
      <fieldset class="line"><legend>\(name)</legend>
      <label>\(label)\(kiosk.currency.map { " (\($0.code))" as HTML })\(fileNote(price, kiosk.fileMenu?.menu.juice(juice.id)?.price) { $0.text(language) })
      <input name="price.\(juice.id)" inputmode="decimal" maxlength="20" autocomplete="off" \
      value="\(priceField.value ?? "")">\(priceField.was)</label>
      <label class="choice"><input type="checkbox" name="disabled.\(juice.id)" value="1"\
      \(disabled.value == nil ? .empty : " checked")>\(disabled.was) \
      \(language("not sold", "판매하지 않음"))</label></fieldset>

      """
  }

  private func fruit(_ fruit: Fruit) -> HTML {
    func amount(_ kind: String, _ label: String, _ now: Int?, _ file: Int?) -> HTML {
      let field = field("\(kind).\(fruit.id)", now.map { "\($0)" } ?? "")
      return """
        <label>\(label)\(fileNote(now, file) { "\($0)" })
        <input type="number" inputmode="numeric" min="0" max="1000000000" name="\(kind).\(fruit.id)" \
        value="\(field.value ?? "")" required>\(field.was)</label>

        """
    }
    return """
      <fieldset class="line"><legend>\(fruit.name[language])</legend>
      \(amount("capacity", language("Capacity", "최대 수량"), kiosk.menu?.capacities[fruit.id],
        kiosk.fileMenu?.capacities[fruit.id]))\
      \(amount("low", language("Low at", "부족 기준"), kiosk.menu?.lowMarks[fruit.id],
        kiosk.fileMenu?.lowMarks[fruit.id]))</fieldset>

      """
  }

  /// Returns a note with the value of the file, or `nil` if it equals the value in force.
  private func fileNote<Value: Equatable>(
    _ now: Value?, _ file: Value?, _ text: (Value) -> String
  ) -> HTML? {
    guard now != file else { return nil }
    return """
       <small class="muted">\(language("file:", "파일:")) \(file.map(text) ?? "–")</small>
      """
  }

  private var hours: HTML {
    let inForce = kiosk.settings?.hours
    let choice = field("hours", kiosk.change.hours == nil ? "file" : "own")
    let isOwn = choice.value == "own"
    let fileText =
      kiosk.settings?.fileHours.map(language.text) ?? language("always open", "항상 영업")
    let days: [HTML] = OpeningHours.Day.allCases.map { day in
      let interval = inForce?.intervals[day]
      func time(_ name: String, _ label: String, _ now: String?) -> HTML {
        let field = field("\(name).\(day)", now ?? "")
        return """
          <input type="time" name="\(name).\(day.rawValue)" value="\(field.value ?? "")" \
          aria-label="\(language.name(of: day)): \(label)">\(field.was)

          """
      }
      // A time field of HTML cannot contain 24:00.
      let times = interval?.text.replacing("24:00", with: "00:00").split(separator: "-")
      return """
        <div class="day"><span>\(language.name(of: day))</span>
        \(time("from", language("from", "시작"), times.map { String($0[0]) }))–
        \(time("to", language("until", "종료"), times.map { String($0[1]) }))</div>

        """
    }
    return """
      <section class="card"><h2>\(language("Opening hours", "영업시간"))</h2>\(choice.was)
      <label class="choice"><input type="radio" name="hours" value="file"\(isOwn ? .empty : " checked")> \
      \(language("As in the file:", "파일대로:")) \(fileText)</label>
      <label class="choice"><input type="radio" name="hours" value="own"\(isOwn ? " checked" : .empty)> \
      \(language("At these times:", "아래 시간에만:"))</label>
      <div class="days">\(days)
      <div class="day"><span>\(language("Each", "매일"))</span>
      <input type="time" name="from.each" value="\(filled?["from.each"] ?? "")" aria-label="\(language("each day: from", "매일: 시작"))">–
      <input type="time" name="to.each" value="\(filled?["to.each"] ?? "")" aria-label="\(language("each day: until", "매일: 종료"))"></div></div>
      <p class="muted">\(language(
        "A day without times is closed. An end before the start is on the next day; from 00:00 until 00:00 is the whole day. The row “Each” does not apply to a day that you change, too. The kiosk opens and closes by itself.",
        "시간이 없는 요일은 쉬어요. 종료가 시작보다 이르면 다음 날까지, 00:00~00:00은 하루 종일이에요. “매일”은 따로 바꾼 요일에는 적용되지 않아요. 키오스크가 스스로 열고 닫아요."))</p>
      </section>
      """
  }
}

extension KioskState {
  /// The hidden field with the id of the change that a form replaces.
  var replacesField: HTML { .hidden("replaces", settings?.stored?.id.text ?? "") }
}

extension SettingsPage {
  /// Returns the question before a button changes several values, which lists them.
  static func question(
    _ words: String, at kiosk: KioskState, _ path: String, _ action: String, _ label: String,
    _ context: PageContext
  ) -> HTML {
    let language = context.language
    return .notice(
      .warn,
      html: """
        <p><strong>\(language("Nothing was changed yet. This will change:", "아직 바꾸지 않았어요. 이렇게 바뀌어요:"))</strong> \
        \(words)</p>
        <form class="actions" method="post" action="\(path)">\
        \(context.fields(id: .random))\(kiosk.replacesField)\(HTML.hidden("sure", "1"))
        <button name="do" value="\(action)">\(label)</button>
        <a class="button" href="\(path)">\(language("Cancel", "취소"))</a></form>
        """, tag: "div")
  }

  /// The notice that no kiosk would get another value.
  static func nothingToChange(_ language: Language) -> HTML {
    language.notice(.warn, "There is nothing to change.", "바꿀 것이 없어요.")
  }

  /// The reason why a change is not sent.
  static func tooLong(_ language: Language) -> String {
    language(
      "with this, the change is too long. Write some of the juices into the kiosk's file.",
      "변경 내용이 너무 길어요. 쥬스 몇 개를 키오스크 파일에 옮겨 주세요.")
  }

  /// The notice that a change has no record, or one without the earlier values.
  static func cannotUndo(_ language: Language) -> HTML {
    language.notice(
      .warn, "Nothing was changed: the earlier values are not recorded.",
      "이전 값이 기록되어 있지 않아 아무것도 바꾸지 않았어요.")
  }

  /// The notice that another user has changed the settings since the page was loaded.
  static func outdated(_ kiosk: KioskState, _ language: Language) -> HTML {
    let by = kiosk.settings?.stored?.by ?? ""
    return language.notice(
      .warn,
      "Nothing was changed: \(by) has changed the settings meanwhile. Compare with the values of the kiosk, and save again.",
      "그사이 \(by)님이 설정을 바꿔서 아무것도 변경하지 않았어요. 확인하고 다시 저장해 주세요.")
  }
}
