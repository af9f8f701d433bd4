import HTTPTypes
import Hummingbird
import JuiceDomain

enum LoginPage {
  /// Returns the page with the login form.
  ///
  /// - Parameters:
  ///   - target: The path that the browser opens after the login.
  ///   - problem: The reason why the last attempt failed.
  static func page(
    _ context: PageContext, to target: String, problem: String? = nil,
    status: HTTPResponse.Status = .ok
  ) -> Page {
    let language = context.language
    let title = language("Log in", "로그인")
    return Page(
      title: title,
      body: """
        <section class="card narrow">
        <h1>\(title)</h1>
        \(context.hasNoUsers && problem == nil ? firstUser(language) : nil)\(problem.map { HTML.notice(.bad, $0) })
        <form method="post" action="/login" class="stack">
        \(context.fields())\(HTML.hidden("to", target))
        <label>\(language("Name", "이름"))
        <input name="name" autocomplete="username" autocapitalize="none" spellcheck="false" \
        maxlength="64" required autofocus></label>
        <label>\(language("Password", "비밀번호"))
        <input name="password" type="password" autocomplete="current-password" required></label>
        <button class="primary">\(title)</button>
        </form>
        <p class="muted">\(language(
          "Password forgotten? An administrator makes a link for a new one.",
          "비밀번호를 잊었나요? 관리자가 새로 정하는 링크를 만들어 줄 수 있어요."))</p>
        </section>
        """, status: status)
  }

  private static func firstUser(_ language: Language) -> HTML {
    .notice(
      .hint,
      html: """
        \(language(
          "There is no user yet. Run this on the dashboard's computer; the first user is an administrator:",
          "아직 사용자가 없어요. 대시보드 컴퓨터에서 실행해 주세요. 첫 사용자는 관리자예요:"))
        <code>juice-dashboard user add NAME</code>
        """)
  }
}
