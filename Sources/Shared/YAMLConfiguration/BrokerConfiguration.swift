/// The addresses of an MQTT broker, and the account to use.
package struct BrokerConfiguration: Sendable, Equatable {
  package var host = "127.0.0.1"
  package var port = 1883
  /// Further addresses: of the same broker, or of other nodes of its cluster.
  package var others: [Address] = []
  package var `protocol` = ProtocolVersion.v5
  package var clientID = "juice-kiosk-k1"
  package var username: String?
  /// The path of the file that contains the password; see `readPassword()`.
  package var passwordFile: String?
  /// The password that `loadPassword()` has read.
  package var loadedPassword: String?
  /// The section that contains this configuration, for error messages.
  package var section = "broker"
  /// The TLS settings, or `nil` for an unencrypted connection.
  package var tls: TLS?

  package init() {}

  /// `host` and `port`, followed by `others`.
  package var addresses: [Address] { [Address(host: host, port: port)] + others }

  package struct Address: Sendable, Equatable {
    package var host: String
    package var port: Int
  }

  /// A version of MQTT, as written in the configuration.
  package enum ProtocolVersion: String, CaseIterable, Sendable {
    case v5 = "5"
    case v311 = "3.1.1"
  }

  /// The settings of TLS. Paths are absolute, or relative to the folder where the program was
  /// started.
  package struct TLS: Sendable, Equatable {
    /// The path of the certificates to trust, or `nil` for those of the system.
    package var caFile: String?
    /// The path of the client certificate; never set without `keyFile`.
    package var certificateFile: String?
    package var keyFile: String?

    package init() {}
  }
}

extension BrokerConfiguration {
  /// Reads a section that describes one broker.
  ///
  /// - Parameter clientID: The client identifier to use if the section contains none.
  package init(_ section: inout Section, clientID: String) {
    section.read("host", .host, into: &host)
    let tls = section.section("tls") { BrokerConfiguration.TLS(&$0) }
    if section.has("tls") {
      self.tls = tls
      port = 8883
    }
    section.read("port", .integer(1...65535), into: &port)
    self.clientID = clientID
    readAccount(&section)
  }

  /// Reads a section that describes one broker or the nodes of a cluster.
  ///
  /// - Parameter clientID: The client identifier to use if the section contains none.
  package init(clusterOf section: inout Section, clientID: String) {
    self.init(&section, clientID: clientID)
    guard section.has("addresses") else { return }
    if section.has("host") || section.has("port") {
      section.report(Diagnostic("cannot be combined with 'host' and 'port'"), at: "addresses")
    }
    _ = readAddresses(&section)
  }

  /// Reads the key `addresses`.
  ///
  /// - Returns: Whether the key has 1 to 16 addresses; if not, the method has reported an error.
  package mutating func readAddresses(_ section: inout Section) -> Bool {
    let addresses = section.list("addresses", of: .address(usualPort: tls == nil ? 1883 : 8883))
    guard let addresses, let first = addresses.first, addresses.count <= Self.maximumAddresses
    else {
      let hint = "write it like '[mq1.example.com, mq2.example.com]', 1 to \(Self.maximumAddresses)"
      section.report(Diagnostic("needs addresses", hint: hint), at: "addresses")
      return false
    }
    (host, port) = (first.host, first.port)
    others = Array(addresses.dropFirst())
    return true
  }

  private static let maximumAddresses = 16

  /// Reads the protocol, the client identifier and the account.
  package mutating func readAccount(_ section: inout Section) {
    section.read("protocol", .choice(), into: &`protocol`)
    section.read("client_id", .text, into: &clientID)
    section.read("username", .text, into: &username)
    section.read("password_file", .path, into: &passwordFile)
    if passwordFile != nil, !section.has("username") {
      section.report(
        Diagnostic("a password needs an account", hint: "add 'username'"), at: "password_file")
    }
  }
}

extension BrokerConfiguration {
  /// Returns the password of the account, or `nil` if there is none.
  ///
  /// - Throws: The errors of `PasswordFile.read`.
  package func readPassword() throws(ConfigurationErrors) -> String? {
    if let loadedPassword { return loadedPassword }
    guard let passwordFile else { return nil }
    return try PasswordFile.read(passwordFile, key: "\(section).password_file")
  }

  /// Returns a warning if the password ends with a space or a tab, which may be a mistake;
  /// otherwise `nil`.
  package func passwordWarning() throws(ConfigurationErrors) -> String? {
    guard let passwordFile, let last = try readPassword()?.last, last == " " || last == "\t" else {
      return nil
    }
    return "the password in \(passwordFile) ends with a space, which is part of it"
  }

  /// Reads the password now, because the process may later lose the permission to read the file.
  package mutating func loadPassword() throws(ConfigurationErrors) {
    loadedPassword = try readPassword()
  }
}

extension BrokerConfiguration.TLS {
  package init(_ section: inout Section) {
    section.read("ca_file", .path, into: &caFile)
    section.read("certificate_file", .path, into: &certificateFile)
    section.read("key_file", .path, into: &keyFile)
    section.reportUnlessBoth("certificate_file", "key_file")
  }
}

extension Format where Value == BrokerConfiguration.Address {
  /// A host with an optional port, such as `broker.local`, `10.0.0.7:1884` or `[fe80::1]:1884`.
  static func address(usualPort: Int) -> Self {
    Format { scalar throws(Diagnostic) in
      let text = try Format<String>.text.read(scalar)
      guard let parts = text.wholeMatch(of: /(\[[0-9A-Fa-f:.]+\]|[^:\/@\s\[\]]+)(?::([0-9]{1,5}))?/)
      else {
        throw Diagnostic(
          "\(text.quoted) is not an address",
          hint: "write it like 'broker.local:8883' or '[fe80::1]:8883'")
      }
      let port = parts.2.map { Int($0) ?? 0 } ?? usualPort
      guard (1...65535).contains(port) else {
        throw Diagnostic("the port of \(text.quoted) must be from 1 to 65535")
      }
      let host = String(parts.1).trimmingPrefix("[")
      return Value(host: String(host.last == "]" ? host.dropLast() : host), port: port)
    }
  }
}
