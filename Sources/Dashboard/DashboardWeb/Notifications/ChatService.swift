import KioskProtocol

/// A service that receives messages by HTTP POST. In its messages a name from a kiosk is no mention, no
/// markup and no link; only the addresses of the dashboard's pages are links.
package enum ChatService: Sendable {
  case slack, discord, telegram
  /// ntfy, or a service with the same format as Slack.
  case other

  /// Returns the service that has this URL.
  package init(url: String) {
    let parts = url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: true)
    let host = parts.count > 1 ? parts[1].lowercased() : ""
    switch host {
    case "hooks.slack.com": self = .slack
    case "api.telegram.org": self = .telegram
    case "discord.com", "discordapp.com": self = .discord
    default: self = .other
    }
  }

  /// Returns the body of a message as JSON.
  ///
  /// - Parameter baseURL: The URL of the dashboard.
  package func json(_ notification: Notification, baseURL: String) -> [UInt8] {
    JSONWriter.object { json in
      json.member("text", text(notification, baseURL: baseURL))
      switch self {
      // https://api.slack.com/reference/surfaces/formatting: neither markup nor links in the text.
      case .slack:
        json.member("mrkdwn", false)
        json.member("parse", "none")
      // https://core.telegram.org/bots/api#html-style
      case .telegram: json.member("parse_mode", "HTML")
      case .discord, .other: break
      }
    }
  }

  /// Returns the text of a message.
  package func text(_ notification: Notification, baseURL: String) -> String {
    notification.text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      Self.isAddress(line, below: baseURL) ? link(line) : plain(line)
    }.joined(separator: "\n")
  }

  private func link(_ address: Substring) -> String {
    switch self {
    case .slack: "<\(Self.withEntities(address))>"
    case .telegram: Self.withEntities(address)
    case .discord, .other: String(address)
    }
  }

  private func plain(_ line: Substring) -> String {
    switch self {
    case .slack: Self.withEntities(line)
    // Code contains no mention and no link.
    case .telegram: line.isEmpty ? "" : "<code>\(Self.withEntities(line))</code>"
    case .discord, .other: Self.withLookAlikes(line)
    }
  }

  /// Returns whether a line consists of the address of a page. A line with a name contains a space.
  private static func isAddress(_ line: Substring, below baseURL: String) -> Bool {
    line.hasPrefix("\(baseURL)/")
      && line.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "<") }
      && !line.hasSuffix(":")
  }

  private static func withEntities(_ text: Substring) -> String {
    String(text).replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(
      ">", with: "&gt;")
  }

  /// Replaces the characters that begin a mention, a link or markup by ones that look alike, for services
  /// that have no escape for them: `@everyone`, `<@1>` and `[a](b)`, the `://` of a URL, and the dot of
  /// `evil.example`.
  private static func withLookAlikes(_ line: Substring) -> String {
    let others: [Character: Character] = [
      "<": "‹", ">": "›", "@": "＠", "[": "［", "]": "］", "`": "ˋ", "*": "∗", "|": "∣", "_": "＿",
      "~": "∼", "#": "＃", "\\": "＼",
    ]
    var text = ""
    for (character, next) in zip(line, line.dropFirst().map(Optional.some) + [nil]) {
      let isOfDomain =
        character == "." && text.last?.isWhitespace == false && next?.isLetter == true
      text.append(isOfDomain ? "․" : others[character] ?? character)
    }
    return text.replacing("://", with: ":∕∕")
  }
}
