import HTTPTypes
import Hummingbird

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
        \(problem.map { HTML.notice(.bad, $0) })
        <form method="post" action="/login" class="stack">
        \(context.fields())\(HTML.hidden("to", target))
        <label>\(language("Name", "이름"))
        <input name="name" autocomplete="username" autocapitalize="none" spellcheck="false" \
        maxlength="64" required autofocus></label>
        <label>\(language("Password", "비밀번호"))
        <input name="password" type="password" autocomplete="current-password" required></label>
        <button class="primary">\(title)</button>
        </form>
        </section>
        """, status: status)
  }
}
