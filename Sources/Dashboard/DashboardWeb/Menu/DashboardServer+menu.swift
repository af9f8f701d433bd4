import Fleet
import Hummingbird
import JuiceDomain
import KioskProtocol

extension DashboardServer {
  /// Adds the page of a kiosk's menu.
  ///
  /// - Parameter router: The group of a kiosk's path.
  func addMenu(to router: RouterGroup<PageContext>) {
    router.get("menu") { request, context in
      guard context.isOperator else { throw RequestError.notVisible }
      let isFilled = context.filled.names("").contains { $0 != "juice" }
      return try menuPage(context, context.filled)
        .page(notice: isFilled ? CommonNotices.notSentYet(context.language) : nil).response(context)
    }
    router.post("menu") { request, context in
      try await changeMenu(try context.form(sessions), context).response(context)
    }
  }

  private func menuPage(_ context: PageContext, _ filled: Form = Form("")) throws -> MenuPage {
    let kiosk = try kiosk(context)
    return MenuPage(
      kiosk: kiosk, others: otherKiosks(than: kiosk, context),
      connectionError: link.connectionError,
      now: link.time, context: context, pictures: pictures, filled: filled)
  }

  private func changeMenu(_ form: Form, _ context: PageContext) async throws -> Page {
    guard let id = form.commandID, let replaced = form["replaces"], let action = form["do"] else {
      throw RequestError.badForm
    }
    var page = try menuPage(context, form)
    let (kiosk, language) = (page.kiosk, context.language)
    func again(_ notice: HTML, id: CommandID = .random) -> Page {
      page.id = id
      return page.page(notice: notice)
    }
    let stored = kiosk.settings?.stored?.id
    guard stored == id || replaced == stored?.text ?? "" else {
      return again(SettingsPage.outdated(kiosk, language))
    }
    let removal = SettingsEdit(removing: action, at: kiosk)
    let targets = removal != nil ? [] : try page.others.chosen(in: form)
    guard targets.count <= OtherKiosks.maximum else { return again(OtherKiosks.tooMany(language)) }
    let edit: SettingsEdit
    do throws(MenuForm.Problem) {
      if let removal {
        edit = removal
      } else {
        edit = try MenuForm.edit(form, at: kiosk, and: targets)
      }
    } catch {
      return again(.notice(.bad, error.text(language)))
    }
    let change = kiosk.change(by: edit)
    let isRemoval = removal != nil
    if !isRemoval, let flaw = kiosk.flaws(of: edit).first {
      let menu = kiosk.baseMenu(with: change)?.menu
      return again(.notice(.bad, flaw.text(language, menu)))
    }
    guard action != "preview" else {
      page.previewed = change
      return page.page()
    }
    let kiosks = [kiosk] + targets
    if isRemoval, form["sure"] == nil { return again(page.question(removing: edit, action)) }
    if form["sure"] == nil, let question = SettingsPage.question(about: edit, at: kiosks, language)
    {
      page.mustConfirm = true
      return again(question)
    }
    let (notice, attempt) = try await save(.edit(edit), at: kiosks, form, context, id: id) {
      kiosk, language in
      (edit.menuWords(at: kiosk, language) + [SettingsPage.words(edit, at: kiosk, language)])
        .filter { !$0.isEmpty }.joined(separator: ", ")
    }
    page = try menuPage(context)
    guard let attempt else { return page.page(notice: notice) }
    page.filled = form
    // The next attempt is about the same fruit and juice, which some of the kiosks have now.
    if let fruit = edit.fruits.first { page.filled["fruit.id"] = fruit.id.text }
    if page.edited == nil, let juice = edit.juices.first {
      page.filled["name.id"] = juice.id.text
    }
    return again(notice, id: attempt)
  }
}

extension SettingsEdit {
  /// Creates the edit of a button: `back`, `remove.juice.orange` or `remove.fruit.orange`. Returns `nil`
  /// for another button.
  fileprivate init?(removing action: String, at kiosk: KioskState) {
    self.init()
    let parts = action.split(separator: ".", omittingEmptySubsequences: false)
    switch (parts.first, parts.count) {
    case ("back", 1):
      removedFruits = Set(kiosk.change.fruits.map(\.id))
      removedJuices = Set(kiosk.change.juices.map(\.id))
    case ("remove", 3) where parts[1] == "juice":
      guard let juice = Juice.ID(parts[2]) else { return nil }
      removedJuices = [juice]
    case ("remove", 3) where parts[1] == "fruit":
      guard let fruit = Fruit.ID(parts[2]) else { return nil }
      removedFruits = [fruit]
    default: return nil
    }
  }
}
