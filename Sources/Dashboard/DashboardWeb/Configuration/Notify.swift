import Foundation
package import JuiceDomain
package import YAMLConfiguration

extension DashboardConfiguration {
  /// The receivers of notifications, and the rules for sending them.
  package struct Notify: Sendable, Equatable {
    /// The URL of the pages, without a trailing slash.
    package var link: String
    package var language = Language.english
    package var offlineMinutes = 5
    package var quietSeconds = 60
    package var email: Email?
    package var posts: [Post] = []
  }

  package struct Email: Sendable, Equatable {
    package var host: String
    package var port = 587
    package var tls = MailEncryption.startTLS
    package var caFile: String?
    /// The name for EHLO, or `nil` for the fully qualified name of this computer.
    package var helo: String?
    package var from: String
    package var to: [String]
    package var username: String?
    /// The file with the password; see `readPassword()`.
    var passwordFile: String?
  }

  package enum MailEncryption: String, CaseIterable, Sendable {
    case startTLS = "starttls"
    case implicit
    case none

    fileprivate var port: Int {
      switch self {
      case .startTLS: 587
      case .implicit: 465
      case .none: 25
      }
    }
  }

  package struct Post: Sendable, Equatable {
    /// The URL, or `nil` if `urlFile` contains it; see `readURL()`.
    var url: String?
    var urlFile: String?
    package var format = PostFormat.text
    /// The file with the token; see `readToken()`.
    var tokenFile: String?
    package var caFile: String?
  }

  package enum PostFormat: String, CaseIterable, Sendable { case text, json }
}

extension DashboardConfiguration.Notify {
  private static let maximumReceivers = 20

  /// Reads the section and reports its errors. Returns `nil` if `link` is missing or invalid.
  init?(_ section: inout Section) {
    let link = section.require("link", .webAddress)
    self.init(link: link ?? "")
    while self.link.hasSuffix("/") { self.link.removeLast() }
    section.read("language", .choice(), into: &language)
    section.read("offline_minutes", .integer(0...1440), into: &offlineMinutes)
    section.read("quiet_seconds", .integer(1...3600), into: &quietSeconds)
    email = section.optional("email") { DashboardConfiguration.Email(&$0) }
    var count = 0
    section.list("post") { post in
      count += 1
      if let post = DashboardConfiguration.Post(&post) { posts.append(post) }
    }
    if !section.has("email"), count == 0 {
      section.report(Diagnostic("has no receiver", hint: "add 'email' or 'post'"))
    }
    if (email?.to.count ?? 0) + count > Self.maximumReceivers {
      section.report(Diagnostic("has more than \(Self.maximumReceivers) receivers"))
    }
    guard link != nil else { return nil }
  }
}

extension DashboardConfiguration.Email {
  fileprivate init?(_ section: inout Section) {
    let host = section.require("host", .host)
    let from = section.require("from", .mailAddress)
    let errors = section.collector.errors.count
    let to = section.list("to", of: .mailAddress)
    if !section.has("to") { section.report(Diagnostic("is missing"), at: "to") }
    if to?.isEmpty == true, section.collector.errors.count == errors {
      section.report(Diagnostic("must not be empty"), at: "to")
    }
    self.init(host: host ?? "", from: from ?? "", to: to ?? [])
    section.read("tls", .choice(), into: &tls)
    port = tls.port
    section.read("port", .integer(1...65535), into: &port)
    section.read("ca_file", .path, into: &caFile)
    section.read("helo", .host, into: &helo)
    section.read("username", .text, into: &username)
    section.read("password_file", .path, into: &passwordFile)
    section.reportUnlessBoth("username", "password_file")
    if passwordFile != nil, tls == .none {
      section.report(
        Diagnostic("a password must not be sent unencrypted", hint: "set 'tls'"),
        at: "password_file")
    }
    guard host != nil, from != nil, to != nil else { return nil }
  }
}

extension DashboardConfiguration.Post {
  fileprivate init?(_ section: inout Section) {
    self.init()
    section.read("url", .webAddress, into: &url)
    section.read("url_file", .path, into: &urlFile)
    section.read("format", .choice(), into: &format)
    section.read("token_file", .path, into: &tokenFile)
    section.read("ca_file", .path, into: &caFile)
    guard section.has("url") != section.has("url_file") else {
      section.report(Diagnostic("needs either 'url' or 'url_file'"))
      return nil
    }
    if tokenFile != nil, let url, !url.hasPrefix("https:") {
      section.report(
        Diagnostic("a token must not be sent unencrypted", hint: "use 'https'"), at: "token_file")
    }
  }
}

extension DashboardConfiguration.Email {
  /// Returns the password, or `nil` if no file is configured.
  ///
  /// - Throws: The errors of `PasswordFile`.
  package func readPassword() throws(ConfigurationErrors) -> String? {
    guard let passwordFile else { return nil }
    return try PasswordFile.read(passwordFile, key: "notify.email.password_file")
  }
}

extension DashboardConfiguration.Post {
  /// Returns the URL, from the configuration or from `urlFile`.
  ///
  /// - Throws: The errors of `PasswordFile`, and an error if the file contains no URL.
  package func readURL() throws(ConfigurationErrors) -> String {
    if let url { return url }
    let key = "notify.post.url_file"
    let file = urlFile ?? ""
    let url = try PasswordFile.read(file, key: key, what: "address")
    guard url.isWebAddress else {
      // The error omits the URL, because knowing it may be enough to post there.
      throw ConfigurationErrors(
        Diagnostic("contains no valid address", hint: "write it like 'https://host/path'"),
        in: file,
        key: key
      )
    }
    return url
  }

  /// Returns the token, or `nil` if no file is configured.
  ///
  /// - Throws: The errors of `PasswordFile`, and an error if the token is not valid in an HTTP
  ///   header.
  package func readToken() throws(ConfigurationErrors) -> String? {
    guard let tokenFile else { return nil }
    let key = "notify.post.token_file"
    let token = try PasswordFile.read(tokenFile, key: key, what: "token")
    guard token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw ConfigurationErrors(
        Diagnostic("contains more than a token", hint: "remove spaces and other lines"),
        in: tokenFile, key: key)
    }
    return token
  }
}

extension Format where Value == String {
  /// An e-mail address (RFC 5321 4.1.2) without characters that are special to a mail server.
  fileprivate static let mailAddress = Format { scalar throws(Diagnostic) in
    let text = try text.read(scalar)
    guard text.isMailAddress else {
      throw Diagnostic(
        "\(text.quoted) is not an e-mail address", hint: "write it like 'minji@example.com'")
    }
    return text
  }

  /// A URL with the scheme `http` or `https`.
  fileprivate static let webAddress = Format { scalar throws(Diagnostic) in
    let text = try text.read(scalar)
    guard text.isWebAddress else {
      throw Diagnostic(
        "\(text.quoted) is not a web address", hint: "write it like 'https://host/path'")
    }
    return text
  }
}

extension String {
  /// Whether the text is an e-mail address without characters that are special to a mail server.
  var isMailAddress: Bool {
    let parts = utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
    let isPlain = parts.allSatisfy { part in
      !part.isEmpty && part.allSatisfy { $0.isIdentifierCharacter || ".+=".utf8.contains($0) }
    }
    return parts.count == 2 && isPlain && utf8.count <= 254
  }

  /// Whether the text is an HTTP URL with a host and without a user name or a fragment.
  fileprivate var isWebAddress: Bool {
    guard utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
      let url = URL(string: self, encodingInvalidCharacters: false)
    else { return false }
    return ["http", "https"].contains(url.scheme) && url.host()?.isEmpty == false
      && url.user() == nil && url.fragment() == nil
  }
}
