import Fleet
import Hummingbird
import JuiceDomain
import KioskProtocol

extension DashboardServer {
  /// Adds the page of the user's own messages.
  ///
  /// - Parameter router: The group of the path `account/messages`, for all users.
  func addMessages(to router: RouterGroup<PageContext>) {
    router.get { _, context in
      try await messagesPage(context).page().response(context)
    }
    router.post { request, context in
      let form = try context.form(sessions)
      let outcome = try await changeMessages(form, context)
      let isDone = [.saved, .stopped].contains(outcome)
      return try await messagesPage(context).page(outcome, filled: isDone ? nil : form)
        .response(context)
    }
  }

  private func messagesPage(_ context: PageContext) async throws -> MessagesPage {
    guard let user = context.user else { throw RequestError.loggedOut }
    guard user.role != .driver else { throw RequestError.notVisible }
    return MessagesPage(
      choice: await messages.choice(of: user.name), fleet: fleet(context),
      canSend: await messages.canSend, sent: await sent.all.filter { $0.user == user.name },
      localTime: LocalTime(fleet(context).timeZone, now: link.time, context.language),
      context: context)
  }

  private func changeMessages(
    _ form: Form, _ context: PageContext
  ) async throws -> MessagesPage.Outcome {
    guard let user = context.user else { throw RequestError.loggedOut }
    guard user.role != .driver else { throw RequestError.notVisible }
    if form["do"] == "stop" {
      _ = try await messages.set(nil, of: user.name)
      await noteMessages(user, nil)
      return .stopped
    }
    guard form["do"] == "save", let address = form["address"] else { throw RequestError.badForm }
    guard address.isMailAddress else { return .badAddress }
    let (from, to) = (form["from"] ?? "", form["to"] ?? "")
    let quietHours = MessageChoice.QuietHours(from: from, to: to)
    guard quietHours != nil || from.isEmpty && to.isEmpty else { return .badHours }
    let (own, old) = (fleet(context), await messages.choice(of: user.name))
    let kinds = MessageChoice.Kind.allCases.filter { form["kind.\($0.rawValue)"] != nil }
    // The fleet may not contain a chosen kiosk now.
    let kiosks = form.names("kiosk.").compactMap { KioskID($0) }
      .filter { own[$0] != nil || old?.kiosks?.contains($0) == true }
    let isAll = form["kiosks"] != "some"
    guard !kinds.isEmpty, isAll || !kiosks.isEmpty else { return .nothing }
    let choice = MessageChoice(
      address: address, kinds: Set(kinds), kiosks: isAll ? nil : Set(kiosks),
      quietHours: quietHours, language: context.language,
      timeZone: own.timeZone ?? old?.timeZone)
    guard try await messages.set(choice, of: user.name) else { return .tooMany }
    await noteMessages(user, address)
    return .saved
  }

  private func noteMessages(_ user: User, _ address: String?) async {
    await activity.record(
      ActivityLog.Action(user.name.text, .changedMessages, detail: address))
  }
}
