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
        \((context.loginProblem ?? problem).map { HTML.notice(.bad, $0) })
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
}

extension UserFile.Known {
  /// Returns the reason why no user can log in, or `nil` if one can.
  func loginProblem(_ language: Language) -> String? {
    guard users.isEmpty else { return nil }
    return problem == nil
      ? language(
        "No user can log in: there is no user. Add one on the dashboard's computer: juice-dashboard user add NAME. The first user is an administrator.",
        "등록된 사용자가 없어 아무도 로그인할 수 없어요. 대시보드 컴퓨터에서 추가하세요: juice-dashboard user add NAME. 첫 사용자는 관리자예요."
      )
      : language(
        "No user can log in: the file of users is damaged. On the dashboard's computer, juice-dashboard doctor says what is wrong and how to restore it.",
        "사용자 파일이 손상되어 아무도 로그인할 수 없어요. 대시보드 컴퓨터에서 juice-dashboard doctor가 원인과 복구 방법을 알려 줘요."
      )
  }
}
