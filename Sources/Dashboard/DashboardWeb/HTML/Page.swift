import Foundation
import HTTPTypes
import Hummingbird
import JuiceDomain

/// A complete page.
struct Page {
  let title: String
  let body: HTML
  /// The path of the page's live updates, or `nil` if the page has no live updates.
  var live: String?
  var status = HTTPResponse.Status.ok
  /// Scripts of this page only, loaded after the common script.
  var scripts: [Asset] = []
  /// The IANA name of the time zone of the page's times, or `nil` if the page does not name one.
  var timeZone: String?
  /// Whether the page uses the full width of the screen.
  var isFull = false

  func response(_ context: PageContext) -> Response {
    Response(
      status: status, headers: [.contentType: "text/html; charset=utf-8"],
      body: ResponseBody(
        byteBuffer: ByteBuffer(string: html(context).links(below: context.basePath).text)))
  }

  private func html(_ context: PageContext) -> HTML {
    let language = context.language
    let liveAttribute: HTML = live.map { " data-live=\"\($0)\"" } ?? ""
    let reload: HTML? = context.reloadPath.map { " data-reload=\"\($0)\"" }
    return """
      <!doctype html>
      <html lang="\(language.rawValue)">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <title>\(title) · Juice Kiosk</title>
      <link rel="icon" href="\(Asset.icon.path)">
      <link rel="stylesheet" href="\(Asset.stylesheet.path)">
      <script src="\(Asset.script.path)" defer></script>\(scripts.map { "\n<script type=\"module\" src=\"\($0.path)\"></script>" as HTML })
      </head>
      <body class="\(isFull ? "full" : .empty)"\(liveAttribute)\(reload)>
      <a class="skip" href="#main">\(language("Skip to the content", "본문으로 건너뛰기"))</a>
      \(bar(context))
      <main id="main">
      \(context.isOperator ? CommonNotices.users(context.usersProblem, language).html : .empty)
      \(context.user?.regions.isEmpty == false
        ? CommonNotices.lackingKiosks(context.lacksKiosks, language).html : .empty)
      \(timeZone.map { zone in
        """
        <p class="muted zone" data-zone="\(zone)">\(language("Times are in the time zone", "시각은 다음 시간대 기준이에요:")) \(zone)</p>
        """ as HTML
      })\(body)
      </main>
      <p class="disconnected" role="status" hidden>
      \(language("Live updates have stopped; trying again …", "실시간 업데이트가 멈췄어요. 다시 연결하는 중…"))</p>
      <p class="disconnected" id="ended" role="alert" hidden>
      \(language("Your session has ended: these numbers are old.", "세션이 끝나 더 이상 갱신되지 않아요."))
      <a href="\(context.requestTarget)">\(language("Log in again", "다시 로그인"))</a></p>
      </body>
      </html>

      """
  }

  private func bar(_ context: PageContext) -> HTML {
    let language = context.language
    let other = language == .english ? Language.korean : .english
    let user: HTML? = context.user.map { user in
      """
      <a class="who" href="/account">\(user.name)\(user.isOperator ? .empty : " · \(user.role.name(language))")</a>
      <form method="post" action="/logout" data-user="\(user.name)" data-drafts="\(language(
        "This browser has stops that you have begun and not confirmed. Delete them? Otherwise they are kept for you.",
        "이 브라우저에 작성만 하고 확인하지 않은 방문지가 있어요. 지울까요? 지우지 않으면 다시 로그인할 때까지 보관해요."))">
      \(context.fields())
      <button class="plain">\(language("Log out", "로그아웃"))</button>
      </form>
      """
    }
    let chain: HTML = "<a href=\"/chain\">\(language("Chain", "체인"))</a>\n"
    let history: HTML = "<a href=\"/history\">\(language("History", "이력"))</a>\n"
    let routes: HTML = "<a href=\"/routes\">\(language("Routes", "방문 경로"))</a>\n"
    let users: HTML = "<a href=\"/users\">\(language("Users", "사용자"))</a>\n"
    let places: HTML? = context.user.map { user in
      if user.role == .driver { return routes }
      return (user.isAdmin ? users : .empty) + (context.hasChain ? chain : .empty)
        + routes + history
    }
    return """
      <header class="bar">
      <a class="brand" href="/"><img src="\(Asset.icon.path)" alt="" width="28" height="28">Juice Kiosk</a>
      <nav aria-label="\(language("Account", "계정"))">
      <a href="/language/\(other.rawValue)?to=\(context.requestTarget.percentEncoded)" lang="\(other.rawValue)" \
      hreflang="\(other.rawValue)" rel="nofollow">\(other("English", "한국어"))</a>
      \(places)\(user)
      </nav>
      </header>
      """
  }
}

extension String {
  private static let kept = CharacterSet(
    charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./")

  /// The text, encoded as a value in a query.
  var percentEncoded: String { addingPercentEncoding(withAllowedCharacters: Self.kept) ?? "" }
}

/// A part of a page that is updated live: an element with an id.
struct LivePart: Hashable, Sendable {
  let id: String
  let html: HTML

  /// Creates the part with the content of its element.
  ///
  /// - Parameters:
  ///   - id: An id that is unique on the page.
  ///   - tag: The element, such as `div`.
  init(_ id: String, tag: HTML = "div", class style: HTML = "", _ content: HTML) {
    self.id = id
    html = """
      <\(tag) id="\(id)" class="\(style)">\(content)</\(tag)>
      """
  }
}
