import Fleet
import Foundation
import HTTPTypes
import JuiceDomain
import KioskProtocol
import TimeZones

/// The page of the users and their sessions, for administrators.
struct UsersPage {
  /// The outcome of a form.
  enum Outcome {
    /// A new link by which the user sets a password.
    case link(User.Name, String)
    case changed(User.Name)
    case removed(User.Name)
    case ended
    case badName
    /// The region, in which there is no kiosk.
    case badRegion(String)
    case refused(UserAdministration.Problem)
  }

  let users: [User]
  let sessions: [Sessions.Listed]
  let localTime: LocalTime
  let context: PageContext
  /// The known regions, sorted.
  let regions: [String]

  private var language: Language { context.language }

  func page(_ outcome: Outcome? = nil, filled: Form? = nil) -> Page {
    Page(
      title: language("Users", "사용자"),
      body: """
        \(outcome.map(notice))
        <div class="title"><h1>\(language("Users", "사용자"))</h1></div>
        <p><a class="button" href="/users/audit">\(language("Who did what", "누가 무엇을 했나"))</a>
        <a class="button" href="/users/messages">\(language("Sent messages", "보낸 알림"))</a></p>
        <section class="card"><ul class="choices" id="users">\(users.map(row))</ul></section>
        \(form(filled ?? context.filled))
        <section class="card"><h2>\(language("Sessions", "로그인 세션"))</h2>
        \(SessionList(sessions: sessions, localTime: localTime, context: context, action: "/users").html)</section>
        """)
  }

  private func notice(_ outcome: Outcome) -> HTML {
    switch outcome {
    case .link(let name, let address):
      .notice(
        .good,
        html: """
          <p>\(language(
            "Send this link to \(name). It sets a password once, within a day; after you leave this page it is not shown again.",
            "이 링크를 \(name) 님에게 보내 주세요. 하루 안에 한 번만 비밀번호를 정할 수 있고, 이 페이지를 떠나면 다시 볼 수 없어요."))</p>
          <label>\(language("Link", "링크"))<input id="link" readonly value="\(address)"></label>
          \(QRCode(address)?.html(language("The link as a QR code", "링크 QR 코드")))
          """, tag: "div")
    case .changed(let name):
      language.notice(.good, "\(name) is changed and logged out.", "\(name) 님을 변경하고 로그아웃했어요.")
    case .removed(let name):
      language.notice(.good, "\(name) is removed and logged out.", "\(name) 님을 삭제하고 로그아웃했어요.")
    case .ended: language.notice(.good, "The session is over.", "세션을 끝냈어요.")
    case .badName:
      language.notice(
        .bad, "A name is 1 to 64 of A-Z a-z 0-9 _ -.", "이름은 A-Z a-z 0-9 _ - 중 1~64자예요.")
    case .badRegion(let region):
      language.notice(
        .bad, "There is no kiosk in the region \(region): nothing was changed.",
        "\(region) 지역에는 키오스크가 없어 아무것도 바꾸지 않았어요.")
    case .refused(.exists):
      language.notice(
        .bad, "There is such a user already: nothing was changed.", "이미 있는 사용자라 아무것도 바꾸지 않았어요.")
    case .refused(.unknown):
      language.notice(.bad, "There is no such user any more.", "더 이상 없는 사용자예요.")
    case .refused(.oneself):
      language.notice(
        .bad, "You cannot change or remove yourself: another administrator can.",
        "자기 자신은 바꾸거나 삭제할 수 없어요. 다른 관리자에게 부탁해 주세요.")
    case .refused(.notAllowed):
      language.notice(
        .bad, "You are no administrator any more: nothing was changed.",
        "더 이상 관리자가 아니라 아무것도 바꾸지 않았어요.")
    }
  }

  private func row(_ user: User) -> HTML {
    let isOneself = user.name == context.user?.name
    let others = User.Role.allCases.filter { $0 != user.role }
    let roles: [HTML] = others.map { role in
      "<button name=\"role\" value=\"\(role.rawValue)\">\(language("Make \(role.name(language))", "\(role.name(language))(으)로"))</button>"
    }
    let change: HTML =
      isOneself
      ? "<a href=\"/account\">\(language("Your account", "내 계정"))</a>"
      : """
      <details><summary aria-label="\(language("Change \(user.name)", "\(user.name) 변경"))">\(language("Change", "변경"))</summary>
      <div class="actions">
      <form method="post" action="/users">\(hidden("role", user))\(roles)</form>
      \(regionForm(user))
      <form method="post" action="/users">\(hidden("reset", user))
      <button>\(language("Password link", "비밀번호 링크"))</button></form>
      <form method="post" action="/users">\(hidden("remove", user))
      <details><summary>\(language("Remove …", "삭제 …"))</summary>
      <button>\(language("Remove \(user.name) now", "\(user.name) 지금 삭제"))</button></details></form>
      </div></details>
      """
    return """
      <li id="user-\(user.name)"><span><b>\(user.name)</b> <span class="muted">\(([user.role.name(language)] + user.regions).joined(separator: " · "))</span></span>
      \(change)</li>

      """
  }

  private func hidden(_ action: String, _ user: User) -> HTML {
    "\(context.fields())\(HTML.hidden("do", action))\(HTML.hidden("user", user.name.text))"
  }

  private func form(_ filled: Form) -> HTML {
    let chosen = filled["role"] ?? User.Role.operator.rawValue
    let options: [HTML] = User.Role.allCases.map { role in
      """
      <option value="\(role.rawValue)"\(role.rawValue == chosen ? " selected" : .empty)>\(role.name(language)): \(role.explanation(language))</option>
      """
    }
    return """
      <section class="card"><h2>\(language("Add a user", "사용자 추가"))</h2>
      <form class="dates" id="add" method="post" action="/users">\(context.fields())\(HTML.hidden("do", "add"))
      <label>\(language("Name", "이름"))<input name="user" value="\(filled["user"] ?? "")" maxlength="64" required autocomplete="off"></label>
      <label>\(language("Role", "권한"))<select name="role">\(options)</select></label>
      \(regionChoice(regions, chosen: filled.regions))
      <button class="primary">\(language("Add", "추가"))</button></form>
      <p class="muted">\(language("The user sets the password with a link that you get next.", "비밀번호는 다음에 나오는 링크로 사용자가 직접 정해요."))</p>
      </section>
      """
  }
}

extension UsersPage {
  /// Returns the form that changes the regions of a user, or `nil` if there are none.
  private func regionForm(_ user: User) -> HTML? {
    regionChoice(Set(regions + user.regions).sorted(), chosen: user.regions).map { choice in
      """
      <form method="post" action="/users">\(hidden("regions", user))\(choice)
      <div class="actions"><button>\(language("Save the regions", "지역 저장"))</button></div></form>
      """
    }
  }

  /// Returns a check box for each region, or `nil` if there are none.
  private func regionChoice(_ regions: [String], chosen: [String]) -> HTML? {
    guard !regions.isEmpty else { return nil }
    let boxes: [HTML] = regions.enumerated().map { number, region in
      """
      <label class="choice"><input type="checkbox" name="region.\(number)" value="\(region)"\
      \(chosen.contains(region) ? " checked" : .empty)> \(region)</label>

      """
    }
    return """
      <fieldset><legend>\(language("Regions (none: all)", "지역 (고르지 않으면 전체)"))</legend>\(boxes)</fieldset>
      """
  }
}

extension User.Role {
  func name(_ language: Language) -> String {
    switch self {
    case .viewer: language("viewer", "보기 전용")
    case .driver: language("driver", "운전")
    case .operator: language("operator", "운영자")
    case .admin: language("administrator", "관리자")
    }
  }

  fileprivate func explanation(_ language: Language) -> String {
    switch self {
    case .viewer: language("sees everything", "모두 보기")
    case .driver: language("own routes only", "자기 방문 경로만")
    case .operator: language("restocks too", "재고 채움까지")
    case .admin: language("manages users too", "사용자 관리까지")
    }
  }
}

/// The list of the latest 100 sessions, each with a button that ends it, except the visitor's own.
struct SessionList {
  let sessions: [Sessions.Listed]
  let localTime: LocalTime
  let context: PageContext
  /// The path to which each form is sent.
  let action: HTML

  private var language: Language { context.language }

  var html: HTML {
    let rows: [HTML] = sessions.prefix(ListSlice.length).map { session in
      let facts = [BrowserName.text(session.origin.browser), session.origin.address]
        .filter { !$0.isEmpty }
      let end: HTML =
        session.isOwn
        ? "<span class=\"muted\">\(language("this browser", "이 브라우저"))</span>"
        : """
        <form method="post" action="\(action)">\(context.fields())\(HTML.hidden("do", "end"))\(HTML.hidden("session", session.id))
        <button aria-label="\(language("End the session of \(session.user) at \(localTime.text(session.origin.at))", "\(session.user) 님의 \(localTime.text(session.origin.at)) 세션 끝내기"))">\(language("End", "끝내기"))</button></form>
        """
      return """
        <li><span><b>\(session.user)</b> \(localTime.html(session.origin.at))
        <span class="muted" title="\(session.origin.browser)">\(facts.joined(separator: " · "))</span></span> \(end)</li>

        """
    }
    return "<ul class=\"choices\" id=\"sessions\">\(rows)</ul>"
  }
}

/// The page of the user's own password and sessions.
struct AccountPage {
  let sessions: [Sessions.Listed]
  let localTime: LocalTime
  let context: PageContext

  private var language: Language { context.language }

  func page(_ notice: HTML? = nil, status: HTTPResponse.Status = .ok) -> Page {
    let done: HTML? =
      context.requestTarget.hasSuffix("?done")
      ? language.notice(
        .good, "The password is changed. All other sessions are over.",
        "비밀번호를 바꾸고 다른 세션을 모두 끝냈어요.") : nil
    return Page(
      title: language("Your account", "내 계정"),
      body: """
        <h1>\(language("Your account", "내 계정"))</h1>
        \(notice ?? done)
        \(context.user?.role == .driver ? .empty : messages)
        <section class="card narrow"><h2>\(language("Change the password", "비밀번호 바꾸기"))</h2>
        <form class="stack" method="post" action="/account/password">\(context.fields())
        <label>\(language("Current password", "현재 비밀번호"))<input name="password" type="password" autocomplete="current-password" required></label>
        \(NewPassword.fields(language))
        <button class="primary">\(language("Change the password", "비밀번호 바꾸기"))</button></form></section>
        <section class="card"><h2>\(language("Where you are logged in", "로그인한 곳"))</h2>
        \(SessionList(sessions: sessions, localTime: localTime, context: context, action: "/account/sessions").html)</section>
        """, status: status)
  }
}

extension AccountPage {
  fileprivate var messages: HTML {
    """
    <p><a class="button" href="/account/messages">\(language("Messages by mail", "메일 알림"))</a></p>
    """
  }
}

/// The page on which a user sets a password with a link.
struct NewPassword {
  enum Problem {
    case tooShort, tooLong, different

    func notice(_ language: Language) -> HTML {
      switch self {
      case .tooShort:
        language.notice(
          .bad, "A password has at least \(PasswordHash.minimumPassword) characters.",
          "비밀번호는 \(PasswordHash.minimumPassword)자 이상이어야 해요.")
      case .tooLong:
        language.notice(
          .bad, "A password has at most \(PasswordHash.maximumPassword) bytes.",
          "비밀번호는 \(PasswordHash.maximumPassword)바이트까지예요.")
      case .different:
        language.notice(.bad, "The two passwords are not the same.", "두 비밀번호가 서로 달라요.")
      }
    }
  }

  let token: String
  let user: User.Name

  static func problem(_ password: String, _ again: String) -> Problem? {
    if password.count < PasswordHash.minimumPassword { return .tooShort }
    if password.utf8.count > PasswordHash.maximumPassword { return .tooLong }
    return password == again ? nil : .different
  }

  static func fields(_ language: Language) -> HTML {
    """
    <label>\(language("New password", "새 비밀번호"))<input name="new" type="password" autocomplete="new-password" minlength="\(PasswordHash.minimumPassword)" required></label>
    <label>\(language("New password again", "새 비밀번호 확인"))<input name="again" type="password" autocomplete="new-password" required></label>
    """
  }

  func page(_ context: PageContext, _ notice: HTML? = nil) -> Page {
    let title = context.language("Set your password", "비밀번호 정하기")
    return Page(
      title: title,
      body: """
        <section class="card narrow"><h1>\(title)</h1>
        <p>\(context.language("Your name for the login:", "로그인 이름:")) <b>\(user)</b></p>
        \(notice)
        <form class="stack" method="post" action="/password/\(token)">\(context.fields())
        \(Self.fields(context.language))
        <button class="primary">\(title)</button></form></section>
        """)
  }
}

/// The page of the actions of users, for administrators.
struct AuditPage {
  let fleet: KioskFleet
  let choice: HistoryChoice
  let records: [ActivityLog.Record]
  let isCut: Bool
  let localTime: LocalTime
  let context: PageContext

  private var language: Language { context.language }

  func page() -> Page {
    let slice = ListSlice(page: choice.page, of: records.count)
    let shown = records.dropFirst(slice.start).prefix(ListSlice.length)
    let heads = [
      language("Time", "시각"), language("User", "사용자"), language("What", "한 일"),
      language("Where", "대상"),
    ]
    let title = language("Who did what", "누가 무엇을 했나")
    return Page(
      title: title,
      body: """
        <p class="path"><a href="/users">← \(language("Users", "사용자"))</a></p>
        <h1>\(title)</h1>
        \(choice.periods("/users/audit", language))
        \(isCut
          ? language.notice(.hint, "There is more than this page reads: choose a shorter time.", "이 페이지에서 다 읽을 수 없어요. 기간을 줄여 주세요.") : .empty)
        <div class="card wide" tabindex="0">\(HTML.table(heads, shown.map(row), id: "audit", style: "review chain log"))</div>
        \(slice.links(language) { choice.address("/users/audit", kind: nil, page: $0) })
        """, timeZone: localTime.clock.name)
  }

  private func row(_ record: ActivityLog.Record) -> HTML {
    var (who, what, place) = ("", HTML.empty, HTML.empty)
    switch record.event {
    case .action(let action):
      who = action.user
      what =
        "\(action.verb.text(language))\(words(action).map { " <span class=\"muted\">\($0)</span>" as HTML })"
      place =
        action.subject.map { "\($0)" }
        ?? action.kiosk.map { link(to: $0, action.verb == .changedSettings ? "/settings" : "") }
        ?? .empty
    case .entry(let kiosk, let entry):
      let state = fleet[kiosk] ?? KioskState(id: kiosk)
      who = entry.sender(language)
      what =
        KioskPage(
          kiosk: state, salesReport: nil, connectionError: nil, now: localTime.now, context: context
        ).parts(of: entry).text
      place = link(to: kiosk, "/history")
    case .alert, .stopped: break
    }
    return """
      <tr><th scope="row">\(localTime.html(record.at))</th><td>\(who)</td><td>\(what)</td><td>\(place)</td></tr>

      """
  }
}

extension AuditPage {
  private func link(to kiosk: KioskID, _ page: String) -> HTML {
    guard let state = fleet[kiosk] else { return "\(kiosk)" }
    return "<a href=\"/kiosks/\(kiosk)\(page)\">\(state.title(language))</a>"
  }

  /// Returns the detail of an action in the user's language, or `nil` for none.
  private func words(_ action: ActivityLog.Action) -> String? {
    guard let english = action.detail else { return nil }
    let detail = language(english, action.koreanDetail ?? english)
    switch action.verb {
    case .addedUser, .changedRole:
      var parts = detail.split(separator: ", ", maxSplits: 1).map(String.init)
      if let role = parts.first.flatMap(User.Role.init(rawValue:)) {
        parts[0] = role.name(language)
      }
      return parts.joined(separator: ", ")
    case .setPassword where detail == "link": return language("with a link", "링크로")
    default: return detail
    }
  }
}

extension ActivityLog.Action.Verb {
  fileprivate func text(_ language: Language) -> String {
    switch self {
    case .loggedIn: language("logged in", "로그인")
    case .failedLogin: language("failed to log in", "로그인 실패")
    case .addedUser: language("added a user", "사용자 추가")
    case .changedRole: language("changed a role", "권한 변경")
    case .changedRegions: language("changed the regions", "지역 변경")
    case .removedUser: language("removed a user", "사용자 삭제")
    case .madeLink: language("made a password link", "비밀번호 링크 생성")
    case .setPassword: language("set the own password", "비밀번호 설정")
    case .endedSession: language("ended a session", "세션 종료")
    case .changedMessages: language("chose messages", "알림 선택")
    case .changedSettings: language("changed the settings", "설정 변경")
    case .plannedRoute: language("planned a route", "방문 경로 계획")
    case .changedRoute: language("changed a route", "방문 경로 변경")
    case .deletedRoute: language("deleted a route", "방문 경로 삭제")
    case .madeWallLink: language("made a link for a screen", "화면 링크 생성")
    case .revokedWallLink: language("revoked the link for a screen", "화면 링크 취소")
    case .madeTabletLink: language("made a link for a tablet", "태블릿 링크 생성")
    case .revokedTabletLink: language("revoked the link for a tablet", "태블릿 링크 취소")
    }
  }
}
