import Fleet
import JuiceDomain
import KioskProtocol
import MessageBroker

/// The page that adds juices and fruits to the menu of one or several kiosks, changes juices, and goes
/// back to the menu of the kiosk's file.
struct MenuPage {
  let kiosk: KioskState
  let others: OtherKiosks
  let connectionError: BrokerError?
  let now: Timestamp
  let context: PageContext
  let pictures: OwnPictures
  /// The values of the form: of the query, of a preview, or of a form that not every kiosk has applied.
  var filled: Form
  /// The change that the page previews, or `nil` for none.
  var previewed: SettingsChange?
  /// Whether the user must confirm the change of a number.
  var mustConfirm = false
  /// The id of the command, which is equal for each attempt to send it.
  var id = CommandID.random

  var language: Language { context.language }
  var path: String { "/kiosks/\(kiosk.id)/menu" }
  private var change: SettingsChange { kiosk.change }
  private var base: Menu? { kiosk.baseMenu?.menu }

  /// The juice that the form changes, or `nil` for a new one.
  var edited: Juice? {
    filled["juice"].flatMap { Juice.ID($0) }.flatMap { base?.juice($0) }
  }

  func page(notice: HTML? = nil) -> Page {
    let title = language("Menu", "메뉴")
    return Page(
      title: "\(title) · \(kiosk.title(language))",
      body: """
        <p class="path"><a href="/kiosks/\(kiosk.id)">← \(kiosk.title(language))</a></p>
        <h1>\(title)</h1>
        \(notice.map(HTML.result))\(CommonNotices.broker(connectionError, language).html)
        \(kiosk.isOnline ? nil : CommonNotices.offline(language))
        \(previewed.map(preview))
        \(content)
        """, timeZone: kiosk.timeZone)
  }

  private var content: HTML {
    guard let base else {
      return
        "<p class=\"empty\">\(language("The kiosk has not sent its menu yet.", "아직 메뉴를 받지 못했어요."))</p>"
    }
    return """
      <div class="columns"><div class="column">
      \(kiosk.hasChainMenu ? chainNotice : form(base))
      </div><div class="column">
      \(differences)
      <section class="card"><h2>\(language("Juices", "쥬스"))</h2>
      <ul class="menu">\(base.juices.map(row))</ul></section>
      </div></div>
      """
  }

  private var chainNotice: HTML {
    language.notice(
      .hint,
      "The chain assigns the menu of this kiosk. Fruits and juices are added there; prices, limits and juices that are not sold are in the settings.",
      "이 키오스크의 메뉴는 체인에서 정해요. 과일과 쥬스는 체인에서 추가하고, 가격·수량·판매 여부는 설정에서 바꿔 주세요.")
  }

  // MARK: The menu, and what differs from the file

  private func recipe(_ juice: Juice) -> String { juice.recipe.text(on: base, language) }

  private func row(_ juice: Juice) -> HTML {
    let isOwn = change.juices.contains { $0.id == juice.id }
    let isNew = kiosk.fileMenu?.menu.juice(juice.id) == nil
    let chip =
      !isOwn ? nil : isNew ? language("new", "추가됨") : language("changed", "변경됨")
    let link: HTML? =
      kiosk.hasChainMenu
      ? nil
      : """
      <a class="button" href="\(path)?juice=\(juice.id)" aria-label="\(language("Change \(juice.name[language])", "\(juice.name[language]) 바꾸기"))">\(language("Change", "바꾸기"))</a>
      """
    return """
      <li>\(kiosk.baseMenu?.picture(of: juice, pictures, language))<span><b>\(juice.name[language])</b> \
      \(chip.map { "<span class=\"chip good\">\($0)</span>" as HTML })\
      \(change.disabled.contains(juice.id) ? "<span class=\"chip\">\(language("not sold", "판매하지 않음"))</span>" as HTML : .empty)<br>
      <span class="muted">\(recipe(juice))\(kiosk.price(of: juice.id).map { " · \($0.text(language))" })</span></span>
      \(link)</li>

      """
  }

  /// The fruits and juices that the file does not have, with buttons that remove them.
  private var differences: HTML {
    guard !change.fruits.isEmpty || !change.juices.isEmpty else {
      return """
        <p class="muted">\(language(
          "The recipes and names are those of the kiosk's file. What you add here is sold in addition. Prices can be changed here and in the settings.",
          "레시피와 이름은 키오스크 파일대로예요. 여기서 추가하면 함께 판매해요. 가격은 여기와 설정에서 바꿀 수 있어요."))</p>
        """
    }
    let used = Set(change.juices.flatMap { $0.recipe.amounts.map(\.fruit) })
    let juices: [HTML] = change.juices.map { juice in
      let old = kiosk.fileMenu?.menu.juice(juice.id)
      // The button takes the price back, too.
      let new = juice.words(kiosk.price(of: juice.id), on: base, language)
      let text = old.map { "\($0.words($0.price, on: base, language)) → \(new)" } ?? new
      return line(
        juice.name[language], text, "juice.\(juice.id)",
        old == nil ? language("Remove", "빼기") : language("As in the file", "파일대로"))
    }
    let fruits: [HTML] = change.fruits.map { fruit in
      line(
        fruit.name[language], language("a fruit", "과일"),
        used.contains(fruit.id) ? nil : "fruit.\(fruit.id)", language("Remove", "빼기"))
    }
    let unused: [HTML] = (kiosk.settings?.unused ?? []).map { HTML.notice(.warn, $0) }
    return """
      <section class="card"><h2>\(language("Differs from the file", "파일과 다른 메뉴"))</h2>\(unused)
      <form method="post" action="\(path)">\(context.fields(id: .random))\(kiosk.replacesField)
      <ul class="menu">\(juices)\(fruits)</ul>
      <div class="actions"><button name="do" value="back">\(language(
        "Back to the file's menu", "파일의 메뉴로 되돌리기"))</button></div></form></section>
      """
  }

  private func line(_ name: String, _ text: String, _ target: String?, _ label: String) -> HTML {
    """
    <li><span><b>\(name)</b><br><span class="muted">\(text)</span></span>
    \(target.map {
      "<button name=\"do\" value=\"remove.\($0)\" aria-label=\"\(label): \(name)\">\(label)</button>" as HTML
    })</li>

    """
  }

  /// Returns the question before fruits and juices are removed, which lists them.
  func question(removing edit: SettingsEdit, _ action: String) -> HTML {
    SettingsPage.question(
      edit.menuWords(at: kiosk, language).joined(separator: ", "), at: kiosk, path, action,
      language("Change the menu", "메뉴 바꾸기"), context)
  }

  // MARK: Preview

  /// The buttons and the wall of the kiosk with the change, by the same code as the real ones.
  private func preview(_ change: SettingsChange) -> HTML {
    let kiosk = kiosk.preview(of: change)
    let wall = WallPage(
      kiosk: kiosk, isOut: false, now: now, language: language, pictures: pictures
    ).page(path: "", live: "").html(context)
    return """
      <section class="card preview"><h2>\(language("Preview", "미리 보기"))</h2>
      <p class="muted">\(language(
        "As customers see it when all fruit is in stock. Nothing is saved yet.",
        "재고가 모두 있을 때 손님에게 보이는 모습이에요. 아직 저장하지 않았어요."))</p>
      <h3>\(language("Buttons", "버튼"))</h3>
      <div inert>\(JuiceButtons(kiosk: kiosk, language: language, pictures: pictures, areDisabled: false).part.html)</div>
      <h3>\(language("Wall", "벽 화면"))</h3>
      <iframe title="\(language("Wall", "벽 화면"))" sandbox="allow-scripts" srcdoc="\(wall.text)"></iframe>
      </section>
      """
  }
}
