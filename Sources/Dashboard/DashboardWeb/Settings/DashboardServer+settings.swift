import Fleet
import Hummingbird
import JuiceDomain
import KioskProtocol

extension DashboardServer {
  /// Adds the page of a kiosk's settings.
  ///
  /// - Parameter router: The group of a kiosk's path.
  func addSettings(to router: RouterGroup<PageContext>) {
    router.get("settings") { request, context in
      guard context.isOperator else { throw RequestError.notVisible }
      var page = try settingsPage(context)
      guard !context.filled.names("").isEmpty else { return page.page().response(context) }
      page.filled = context.filled
      return page.page(notice: CommonNotices.notSentYet(context.language)).response(context)
    }
    router.post("settings") { request, context in
      let form = try context.form(sessions)
      return try await change(form, context).response(context)
    }
  }

  private func settingsPage(_ context: PageContext) throws -> SettingsPage {
    let kiosk = try kiosk(context)
    return SettingsPage(
      kiosk: kiosk, others: otherKiosks(than: kiosk, context),
      connectionError: link.connectionError, now: link.time, context: context)
  }

  /// Returns the kiosks that the user may change together with a kiosk.
  func otherKiosks(than kiosk: KioskState, _ context: PageContext) -> OtherKiosks {
    let others = fleet(context).kiosks.filter { $0.id != kiosk.id && $0.fileMenu != nil }
    func key(_ kiosk: KioskState) -> (String, KioskID) { (kiosk.title(context.language), kiosk.id) }
    return OtherKiosks(kiosk: kiosk, others: others.sorted { key($0) < key($1) })
  }

  private func change(_ form: Form, _ context: PageContext) async throws -> Page {
    guard let id = form.commandID, let replaced = form["replaces"] else {
      throw RequestError.badForm
    }
    var page = try settingsPage(context)
    let kiosk = page.kiosk
    let (isDrop, isUndo) = (form["do"] == "drop", form["do"] == "undo")
    // Shows the form again, with a new command id unless a kiosk may still apply the old command.
    func again(_ notice: HTML, id: CommandID = .random) -> Page {
      if !isDrop, !isUndo { (page.filled, page.id) = (form, id) }
      return page.page(notice: notice)
    }
    let language = context.language
    // Continue if this kiosk has already applied the form: other kiosks may not have applied it.
    let stored = kiosk.settings?.stored?.id
    guard stored == id || replaced == stored?.text ?? "" else {
      return again(SettingsPage.outdated(kiosk, language))
    }
    if isDrop || isUndo {
      let earlier = isDrop ? SettingsChange() : await settings(before: replaced, at: kiosk.id)
      guard let earlier else { return again(SettingsPage.cannotUndo(language)) }
      if isDrop, form["sure"] == nil { return again(page.dropQuestion) }
      let (notice, _) = try await save(.values(earlier), at: [kiosk], form, context, id: id) {
        SettingsPage.words(from: $0, to: earlier, $1)
      }
      page = try settingsPage(context)
      return page.page(notice: notice)
    }
    let targets = try page.others.chosen(in: form)
    let edit: SettingsEdit
    do throws(SettingsEdit.Problem) {
      let typed = try SettingsEdit(form, at: kiosk)
      edit = targets.isEmpty ? typed : typed.withPrices(form, of: kiosk)
    } catch {
      return again(.notice(.bad, error.text(language)))
    }
    guard targets.count <= OtherKiosks.maximum else { return again(OtherKiosks.tooMany(language)) }
    guard !edit.isEmpty else {
      return again(
        targets.isEmpty
          ? SettingsPage.nothingToChange(language)
          : OtherKiosks.nothingChanged(language))
    }
    let kiosks = [kiosk] + targets
    if form["sure"] == nil,
      let question = SettingsPage.question(about: edit, at: kiosks, language)
    {
      page.mustConfirm = true
      return again(question)
    }
    let (notice, attempt) = try await save(.edit(edit), at: kiosks, form, context, id: id) {
      SettingsPage.words(edit, at: $0, $1)
    }
    // The kiosk publishes its settings before it answers.
    page = try settingsPage(context)
    guard let attempt else { return page.page(notice: notice) }
    return again(notice, id: attempt)
  }

  /// Returns the settings that a kiosk had before a change, or `nil` if they are not recorded.
  private func settings(before change: String, at kiosk: KioskID) async -> SettingsChange? {
    // All days that are stored, because the page of actions shows them all.
    let records = await activity.records(since: Timestamp(milliseconds: 0)) { record in
      guard record.kiosk == kiosk, case .action(let action) = record.event else { return false }
      return action.undo?.replaced?.text == change
    }.records
    guard case .action(let action) = records.first?.event else { return nil }
    return action.undo?.change
  }

  /// Sends values to kiosks, and records the changes.
  ///
  /// - Parameters:
  ///   - words: Returns the changed values of a kiosk with their old ones, in a language.
  /// - Returns: The notice for the user, and the id of the next attempt, or `nil` if all kiosks have
  ///   applied the values. The id is a new one unless a kiosk may still apply this one.
  func save(
    _ values: SettingsValues, at kiosks: [KioskState], _ form: Form, _ context: PageContext,
    id: CommandID, words: (KioskState, Language) -> String
  ) async throws -> (notice: HTML, attempt: CommandID?) {
    let results = try await send(values, to: kiosks, form, context, id: id)
    // A kiosk that has not answered may have applied the change, or may do so within seconds.
    for kiosk in kiosks where results[kiosk.id].map({ $0.status == .applied }) ?? true {
      guard kiosk.change(to: values) != kiosk.change else { continue }
      func detail(_ language: Language) -> String {
        // The record cannot change when the kiosk answers later.
        let unanswered = language("(no answer when it was saved)", "(저장할 때 응답 없음)")
        let text = words(kiosk, language).visible(upTo: 500)
        return results[kiosk.id] == nil ? "\(text) \(unanswered)" : text
      }
      var action = ActivityLog.Action(
        context.user?.name.text ?? "", .changedSettings, kiosk: kiosk.id, detail: detail(.english))
      action.koreanDetail = detail(.korean)
      action.set(undo: SettingsCommand(replacing: id, with: kiosk.change))
      await activity.record(action)
    }
    let isApplied = kiosks.allSatisfy { results[$0.id]?.status == .applied }
    let isRejected = results.values.contains { $0.status == .rejected }
    let attempt = isApplied ? nil : isRejected ? CommandID.random : id
    // A kiosk that had the values already got nothing, unless from an earlier attempt.
    let concerned = kiosks.filter { kiosk in
      kiosk.settings?.stored?.id == id || !kiosk.hasAll(of: values)
        || kiosk.change(to: values) != kiosk.change
    }
    guard let first = concerned.first else {
      return (SettingsPage.nothingToChange(context.language), attempt)
    }
    let changed = concerned.first { $0.change(to: values) != $0.change }
    let text = words(changed ?? first, context.language)
    return (notice(results, of: values, text, concerned, context.language), attempt)
  }

  /// Sends the values to the kiosks concurrently.
  ///
  /// - Returns: The results of the kiosks that answered; `applied` for a kiosk that already has the
  ///   values.
  private func send(
    _ values: SettingsValues, to kiosks: [KioskState], _ form: Form, _ context: PageContext,
    id: CommandID
  ) async throws -> [KioskID: CommandResult] {
    guard let user = context.user else { throw RequestError.loggedOut }
    let source = Source(kind: .settings, name: user.name.text)
    return try await withThrowingTaskGroup { group in
      for kiosk in kiosks {
        group.addTask { () -> (KioskID, CommandResult?) in
          let change = kiosk.change(to: values)
          guard change != kiosk.change else { return (kiosk.id, CommandResult(status: .applied)) }
          let command = Command.settings(
            SettingsCommand(replacing: kiosk.settings?.stored?.id, with: change))
          let request = KioskProtocol.Request(id: id, sentAt: link.time, command: command)
          // The kiosk's answer to a longer one has no id.
          guard request.payload.count <= KioskProtocol.Request.maximumPayload else {
            return (kiosk.id, CommandResult(Rejection(.tooLarge, "")))
          }
          let result = try await send(command, to: kiosk.id, as: source, form, id: id)
          // The kiosk does not compare the values of a repeated id; the user may have changed them
          // since the first attempt.
          guard result?.isDuplicate == true, link.fleet[kiosk.id]?.change != change else {
            return (kiosk.id, result)
          }
          return (kiosk.id, CommandResult(Rejection(.conflict, "")))
        }
      }
      var results: [KioskID: CommandResult] = [:]
      for try await (kiosk, result) in group { results[kiosk] = result }
      return results
    }
  }

  private func notice(
    _ results: [KioskID: CommandResult], of values: SettingsValues, _ words: String,
    _ kiosks: [KioskState], _ language: Language
  ) -> HTML {
    let unchanged = Set(
      kiosks.filter { !$0.hasAll(of: values) && $0.change(to: values) == $0.change }.map(\.id))
    let done = kiosks.filter { results[$0.id]?.status == .applied && !unchanged.contains($0.id) }
    let others: [HTML] = kiosks.compactMap { kiosk in
      if unchanged.contains(kiosk.id) {
        let text = language(
          "nothing was changed: it has none of these juices and fruits, or another currency.",
          "이 쥬스·과일이 없거나 통화가 달라 아무것도 바뀌지 않았어요.")
        return "<li>\(kiosk.title(language)): \(text)</li>"
      }
      guard let result = results[kiosk.id] else {
        let text = language(
          "no answer yet. Saving again is safe: the kiosk applies it only once.",
          "아직 응답이 없어요. 다시 저장해도 한 번만 처리돼요.")
        return "<li>\(kiosk.title(language)): \(text)</li>"
      }
      if result.status == .applied {
        let text = language(
          "only as far as it has the juice, the fruit and the currency.",
          "이 키오스크에 있는 쥬스·과일·통화만 적용했어요.")
        return kiosk.hasAll(of: values) ? nil : "<li>\(kiosk.title(language)): \(text)</li>"
      }
      let reason =
        switch result.reason {
        case .conflict: language("the settings have changed meanwhile", "그사이 설정이 바뀜")
        case .tooLarge: SettingsPage.tooLong(language)
        default: language.detail(result.detail, at: kiosk) ?? result.reason?.text(language) ?? ""
        }
      let kept = language("nothing was changed:", "아무것도 바뀌지 않았어요:")
      return "<li>\(kiosk.title(language)): \(kept) \(reason)</li>"
    }
    let names = done.map { $0.title(language) }.joined(separator: ", ")
    let saved: HTML? =
      done.isEmpty
      ? nil : "<p><strong>\(language("Saved", "저장했어요"))</strong> (\(names)): \(words)</p>"
    return .notice(
      others.isEmpty ? .good : .warn,
      html: "\(saved)\(others.isEmpty ? nil : "<ul>\(others)</ul>" as HTML)", tag: "div")
  }
}

/// The values that a form asks for.
enum SettingsValues: Sendable {
  case edit(SettingsEdit)
  /// All values that differ from those of the file: an earlier change, or none.
  case values(SettingsChange)
}

extension KioskState {
  /// Returns the kiosk's change with the values.
  fileprivate func change(to values: SettingsValues) -> SettingsChange {
    switch values {
    case .edit(let edit): change(by: edit)
    case .values(let change): change
    }
  }

  fileprivate func hasAll(of values: SettingsValues) -> Bool {
    if case .edit(let edit) = values { hasAll(of: edit) } else { true }
  }
}
