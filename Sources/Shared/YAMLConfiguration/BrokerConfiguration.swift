/// How to reach the MQTT broker, and as whom.
package struct BrokerConfiguration: Sendable, Equatable {
  package var host = "127.0.0.1"
  package var port = 1883
  /// Where else the same broker listens, or another node of its cluster.
  package var others: [Address] = []
  package var `protocol` = ProtocolVersion.v5
  package var clientID = "juice-kiosk-k1"
  package var username: String?
  /// See `readPassword()`.
  package var passwordFile: String?
  /// See `loadPassword()`.
  package var loadedPassword: String?
  /// The section in which it was read, for messages.
  package var section = "broker"
  /// `nil` for a connection that is not encrypted.
  package var tls: TLS?

  package init() {}

  /// `host` and `port`, and the others.
  package var addresses: [Address] { [Address(host: host, port: port)] + others }

  package struct Address: Sendable, Equatable {
    package var host: String
    package var port: Int
  }

  /// A version of MQTT, as people write it.
  package enum ProtocolVersion: String, CaseIterable, Sendable {
    case v5 = "5"
    case v311 = "3.1.1"
  }

  /// Encryption of the connection. Paths are absolute, or relative to where the kiosk was started.
  package struct TLS: Sendable, Equatable {
    /// The authority to trust; `nil` for those that the system trusts.
    package var caFile: String?
    /// The kiosk's own certificate; never without `keyFile`.
    package var certificateFile: String?
    package var keyFile: String?

    package init() {}
  }
}

extension BrokerConfiguration {
  /// - Parameter clientID: counts where the file gives none.
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

  /// One broker, or the nodes of a cluster.
  ///
  /// - Parameter clientID: counts where the file gives none.
  package init(clusterOf section: inout Section, clientID: String) {
    self.init(&section, clientID: clientID)
    guard section.has("addresses") else { return }
    if section.has("host") || section.has("port") {
      section.report(Diagnostic("stands instead of 'host' and 'port'"), at: "addresses")
    }
    _ = readAddresses(&section)
  }

  /// - Returns: `false`, and reports it, if there is no address or there are too many.
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

  /// Reads the protocol and the account.
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
  /// The password of the account; `nil` if there is none.
  ///
  /// - Throws: see `PasswordFile`.
  package func readPassword() throws(ConfigurationErrors) -> String? {
    if let loadedPassword { return loadedPassword }
    guard let passwordFile else { return nil }
    return try PasswordFile.read(passwordFile, key: "\(section).password_file")
  }

  /// Reads the password now, because later the process may not be allowed to.
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
  /// A host, and its port if that is not the usual one: `broker.local`, `10.0.0.7:1884`,
  /// `[fe80::1]:1884`.
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
