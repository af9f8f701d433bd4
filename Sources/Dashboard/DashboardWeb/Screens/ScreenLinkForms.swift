import JuiceDomain
import KioskProtocol

/// The links to the screens of a kiosk, with a QR code each, and the forms that create, replace and
/// revoke them.
struct ScreenLinkForms {
  let kiosk: KioskID
  let tokens: [Screen: String]
  let context: PageContext

  private var language: Language { context.language }

  var html: HTML { "<div id=\"screens\">\(Screen.allCases.map(section))</div>" }

  private func section(_ screen: Screen) -> HTML {
    let token = tokens[screen]
    let link: HTML? = token.map { token in
      let path = "/\(screen.rawValue)/\(token)"
      let address = "\(context.origin)\(context.basePath.text)\(path)"
      return """
        <p><a id="\(screen.rawValue)-link" href="\(path)">\(screen.name(language).capitalizedFirst)</a><br>
        <span class="muted">\(screen.explanation(language))</span></p>
        \(context.origin.isEmpty ? nil : QRCode(address)?.html(address))
        """
    }
    let revoke: HTML? = token.map { _ in
      "<button name=\"do\" value=\"revoke\">\(language("Revoke the link", "링크 취소"))</button>"
    }
    let (action, text) =
      token == nil
      ? ("create", language("Create a \(screen.name(language))", "\(screen.name(language)) 만들기"))
      : ("replace", language("Replace the link", "링크 바꾸기"))
    return """
      \(link)
      <form method="post" action="/kiosks/\(kiosk)/screens">\(context.fields())
      \(HTML.hidden("screen", screen.rawValue))
      <div class="actions"><button name="do" value="\(action)">\(text)</button>\(revoke)</div>
      </form>

      """
  }
}

extension Screen {
  fileprivate func name(_ language: Language) -> String {
    switch self {
    case .wall: language("link for a screen on the wall", "벽 화면용 링크")
    case .tablet: language("link for a customer's tablet", "손님 태블릿용 링크")
    }
  }

  fileprivate func explanation(_ language: Language) -> String {
    switch self {
    case .wall:
      language(
        "It shows the display without a login, until it is revoked. Anyone who has the link can see the display, and nothing else.",
        "취소할 때까지 로그인 없이 화면을 보여 줘요. 링크를 아는 사람은 화면만 볼 수 있어요.")
    case .tablet:
      language(
        "It shows the buttons of the menu without a login, until it is revoked. Anyone who has the link can order, and nothing else.",
        "취소할 때까지 로그인 없이 메뉴 버튼을 보여 줘요. 링크를 아는 사람은 주문만 할 수 있어요.")
    }
  }
}
