import Fleet
import Foundation
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
    /// The archive did not answer, so the regions are not known.
    case unknownRegions
    case refused(UserAdministration.Problem)
  }

  let users: [User]
  let sessions: [Sessions.Listed]
  let localTime: LocalTime
  let context: PageContext
  /// The known regions, sorted.
  let regions: [String]
  /// Whether the regions of the archive are missing, because it does not answer.
  let lacksRegions: Bool

  private var language: Language { context.language }

  func page(_ outcome: Outcome? = nil, filled: Form? = nil) -> Page {
    Page(
      title: language("Users", "사용자"),
      body: """
        \(outcome.map(notice) ?? (lacksRegions ? missingRegions : nil))
        <div class="title"><h1>\(language("Users", "사용자"))</h1></div>
        <p class="actions"><a class="button" href="/users/audit">\(language("Who did what", "누가 무엇을 했나"))</a>
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
      language.notice(.good, "\(name) was changed and logged out.", "\(name) 님을 변경하고 로그아웃했어요.")
    case .removed(let name):
      language.notice(.good, "\(name) was removed and logged out.", "\(name) 님을 삭제하고 로그아웃했어요.")
    case .ended: language.notice(.good, "The session is over.", "세션을 끝냈어요.")
    case .badName:
      language.notice(
        .bad, "A name is 1 to 64 of A-Z a-z 0-9 _ -.", "이름은 A-Z a-z 0-9 _ - 중 1~64자예요.")
    case .badRegion(let region):
      language.notice(
        .bad, "There is no kiosk in the region \(region): nothing was changed.",
        "\(region) 지역에는 키오스크가 없어 아무것도 바꾸지 않았어요.")
    case .unknownRegions:
      language.notice(
        .bad,
        "The archive does not answer, so its regions are not known: nothing was changed. Try again in a minute.",
        "아카이브가 응답하지 않아 지역을 알 수 없어요. 아무것도 바꾸지 않았어요. 잠시 뒤에 다시 시도해 주세요.")
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

  private var missingRegions: HTML {
    language.notice(
      .warn, "The archive does not answer, so its regions are missing here.",
      "아카이브가 응답하지 않아 아카이브에만 있는 지역은 지금 표시되지 않아요.")
  }

  private func row(_ user: User) -> HTML {
    let isOneself = user.name == context.user?.name
    let others = User.Role.allCases.filter { $0 != user.role }
    let roles: [HTML] = others.map { role in
      "<button name=\"role\" value=\"\(role.rawValue)\">\(language("Make \(role.name(language))", "\(role.name(language)) 권한으로 변경"))</button>"
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
    case .driver: language("driver", "운전자")
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
