import Fleet
import Hummingbird
import JuiceDomain
import KioskProtocol

/// A complete page for customers: without a login, a menu or links, for old browsers, too.
struct ScreenPage {
  let screen: Screen
  let title: String
  let body: HTML
  let language: Language
  /// The path of the page, which a browser without scripts loads again every 15 seconds.
  let path: String
  /// The path of the page's live updates, or empty for a preview.
  let live: String

  /// The value of `data-version` with which an open page is up to date. If it changes, the script
  /// loads the page again.
  static func version(_ language: Language) -> String {
    "\(Asset.screenScript.path) \(Asset.screenStylesheet.path) \(language.rawValue)"
  }

  func response(_ context: PageContext) -> Response {
    Response(
      status: .ok, headers: [.contentType: "text/html; charset=utf-8"],
      body: ResponseBody(byteBuffer: ByteBuffer(string: html(context).text)))
  }

  /// Returns the whole document. Without a path of live updates it does not change.
  func html(_ context: PageContext) -> HTML {
    let html: HTML = """
      <!doctype html>
      <html lang="\(language.rawValue)">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      \(live.isEmpty ? nil : "<noscript><meta http-equiv=\"refresh\" content=\"15;url=\(context.basePath.text)\(path)\"></noscript>" as HTML)
      <title>\(title)</title>
      <link rel="icon" href="\(Asset.icon.path)">
      <link rel="stylesheet" href="\(Asset.screenStylesheet.path)">
      <script src="\(Asset.screenScript.path)" defer></script>
      </head>
      <body class="\(screen.rawValue)" data-live="\(live)" data-version="\(Self.version(language))">
      <main id="main">
      \(body)
      </main>
      </body>
      </html>

      """
    return html.links(below: context.basePath)
  }

  /// The kiosk's own words, below the page.
  static func words(_ kiosk: KioskState, _ language: Language) -> LivePart {
    LivePart("words", tag: "footer", "\(kiosk.notice?[language] ?? "")")
  }

  /// A part that changes with each update, with the server's time, from which the script computes the
  /// time of a press. If no update arrives for 30 seconds, the script of a screen shows that the kiosk
  /// is out of service.
  static func alive(_ now: Timestamp, _ language: Language) -> LivePart {
    LivePart(
      "alive",
      """
      <span hidden data-version="\(version(language))" data-now="\(Int(clamping: now.milliseconds))"></span>
      """)
  }
}

extension KioskState {
  /// Returns the text for customers while nothing can be ordered, or `nil`.
  func notOrdering(_ language: Language) -> String? {
    if reports.service == .closed { return CustomerMessage.closed(in: language) }
    let juices = reports.menu?.menu.juices ?? []
    return !juices.isEmpty && juices.allSatisfy { reports.obstacle(to: $0) != nil }
      ? language("Nothing can be ordered at the moment.", "지금은 주문할 수 있는 메뉴가 없어요.") : nil
  }
}

extension Language {
  /// The text for customers while the kiosk or the dashboard cannot be reached.
  var outOfService: String { self("Out of service at the moment.", "지금은 이용할 수 없어요.") }
}
