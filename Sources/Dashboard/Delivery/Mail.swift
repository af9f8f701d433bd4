package import Foundation

/// An e-mail of plain text (RFC 5322).
package struct Mail: Sendable {
  package let from: String
  package let to: String
  package let subject: String
  package let text: String
  /// The identifier of the message, equal for each attempt. `Message-ID` adds the host of `from`.
  package let id: String
  package let date: Date

  /// Creates a mail.
  ///
  /// - Parameters:
  ///   - from: The sender's address, in ASCII.
  ///   - to: The receiver's address, in ASCII.
  ///   - id: An identifier of `A-Z a-z 0-9 _ -`.
  package init(
    from: String, to: String, subject: String, text: String, id: String, date: Date
  ) {
    (self.from, self.to, self.id, self.date) = (from, to, id, date)
    (self.subject, self.text) = (subject, text)
  }

  /// The header and the body, encoded as ASCII.
  var bytes: [UInt8] {
    let host = from.split(separator: "@").last ?? "localhost"
    let lines = [
      "From: Juice Kiosk <\(from)>",
      "To: \(to)",
      "Subject: \(Self.encoded(subject))",
      "Date: \(Self.text(of: date))",
      "Message-ID: <\(id)@\(host)>",
      // Suppresses automatic replies (RFC 3834 5).
      "Auto-Submitted: auto-generated",
      "MIME-Version: 1.0",
      "Content-Type: text/plain; charset=utf-8",
      "Content-Transfer-Encoding: base64",
      "",
      Data(text.replacing("\n", with: "\r\n").utf8).base64EncodedString(
        options: [.lineLength76Characters, .endLineWithCarriageReturn, .endLineWithLineFeed]),
      "",
    ]
    return Array(lines.joined(separator: "\r\n").utf8)
  }

  /// Encodes a text as encoded words (RFC 2047 2), one per line of at most 76 bytes including
  /// `Subject: `.
  static func encoded(_ text: String) -> String {
    var words: [[UInt8]] = [[]]
    for scalar in text.unicodeScalars {
      let isControl = scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value)
      let bytes =
        isControl ? [0x20] : Array(UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
      if words[words.count - 1].count + bytes.count > 36 { words.append([]) }
      words[words.count - 1] += bytes
    }
    return words.map { "=?utf-8?B?\(Data($0).base64EncodedString())?=" }.joined(separator: "\r\n ")
  }

  private static func text(of date: Date) -> String {
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.timeZone = .gmt
    format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss '+0000'"
    return format.string(from: date)
  }
}
