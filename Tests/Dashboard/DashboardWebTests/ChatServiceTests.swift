import Foundation
import KioskProtocol
import Testing

@testable import DashboardWeb

/// Hostile names in messages, read by the documented rules of each service.
@Suite struct ChatServiceTests {
  private static let base = "https://juice.example"
  private static let address = "\(base)/kiosks/k1?fruit=kiwi"
  private static let names = [
    "@everyone", "@here", "@admin_bot", "<!channel>", "<@U024BE7LH>",
    "<https://evil.example|kiosk>",
    "https://evil.example/x", "http://evil.example", "evil.example", "www.evil.example.",
    "a.b.c.example",
    "[kiosk](https://evil.example)", "||hidden||", "**bold** _it_ ~~no~~ `code`", "# title",
    "</code><a href=\"https://evil.example\">x</a>", "&lt;!channel&gt; &amp; co", "\\@everyone",
    "\(base)/@evil", "\(base)/kiosks/k1", "tg://user?id=1", "evil．example", "<#C024BE7LR>",
  ]

  private func notification(_ name: String) -> DashboardWeb.Notification {
    Notification(at: Scene.time, subject: "", text: "\(name): 3.5 °C, offline\n\(Self.address)")
  }

  private func lines(_ service: ChatService, _ name: String) throws -> (json: JSON, lines: [String])
  {
    let json = try JSON.parse(service.json(notification(name), baseURL: Self.base))
    return (json, try #require(json.text("text")).components(separatedBy: "\n"))
  }

  private func withoutEntities(_ text: String) -> String {
    text.replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&amp;", with: "&")
  }

  /// `<...>` is a link, mention or channel; with `parse` none and no `mrkdwn` nothing else is one.
  @Test(arguments: names)
  func slackShowsTheNameAsItIs(name: String) throws {
    let (json, lines) = try lines(.slack, name)
    #expect(json["mrkdwn"] == .bool(false) && json.text("parse") == "none")
    #expect(lines.count == 2 && lines[1] == "<\(Self.address)>")
    #expect(!lines[0].contains("<") && !lines[0].contains(">"))
    #expect(withoutEntities(lines[0]) == "\(name): 3.5 °C, offline")
  }

  /// A text in `code` has no other entity: no mention, no link, no command.
  @Test(arguments: names)
  func telegramShowsTheNameAsCode(name: String) throws {
    let (json, lines) = try lines(.telegram, name)
    #expect(json.text("parse_mode") == "HTML")
    #expect(lines.count == 2 && lines[1] == Self.address)
    let inner = lines[0].dropFirst("<code>".count).dropLast("</code>".count)
    #expect("<code>\(inner)</code>" == lines[0] && !inner.contains("<"))
    #expect(withoutEntities(String(inner)) == "\(name): 3.5 °C, offline")
  }

  /// Mentions, links and markup of Discord; links also as clients find them in a plain text.
  @Test(arguments: names, [ChatService.discord, .other])
  func noRuleMatchesTheName(name: String, service: ChatService) throws {
    let (_, lines) = try lines(service, name)
    #expect(lines.count == 2 && lines[1] == Self.address)
    #expect(lines[0].hasSuffix(": 3.5 °C, offline"))
    let rules = [
      "@", "<", ">", #"[a-z][a-z0-9+.-]*://"#, #"\[[^\]]*\]\("#, #"\*|_|~|`|\|\|"#, "^#", #"\\"#,
      #"[\p{L}\d-]\.\p{L}{2,}"#,
    ]
    for rule in rules {
      #expect(
        lines[0].range(of: rule, options: .regularExpression) == nil, "\(rule) in \(lines[0])")
    }
    let text = service.text(notification(name), baseURL: Self.base)
    #expect(text == lines.joined(separator: "\n"))
  }

  @Test(arguments: [
    ("https://hooks.slack.com/services/T0/B0/x", ChatService.slack),
    ("https://discord.com/api/webhooks/1/x/slack", .discord),
    ("https://api.telegram.org/bot1:x/sendMessage?chat_id=2", .telegram),
    ("https://chat.example/hooks.slack.com/x", .other), ("https://ntfy.sh/juice", .other),
    ("", .other),
  ])
  func theURLNamesTheService(url: String, service: ChatService) {
    #expect(ChatService(url: url) == service)
  }
}
