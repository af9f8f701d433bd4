import Fleet
import Foundation
import HTTPTypes
import JuiceDomain
import KioskProtocol
import TimeZones

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
        .good, "The password was changed. All other sessions are over.",
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
