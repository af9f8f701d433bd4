package import JuiceDomain
import KioskProtocol
package import TimeZones

/// The syntax of a value, and its conversion.
package struct Format<Value>: Sendable {
  package let read: @Sendable (Scalar) throws(Diagnostic) -> Value

  package init(_ read: @escaping @Sendable (Scalar) throws(Diagnostic) -> Value) {
    self.read = read
  }
}

extension Format where Value == Int {
  package static func integer(_ range: ClosedRange<Int>) -> Self {
    Format { scalar throws(Diagnostic) in try scalar.integer(in: range) }
  }
}

extension Format where Value == Bool {
  package static let boolean = Format { scalar throws(Diagnostic) in try scalar.boolean() }
}

extension Format where Value == Duration {
  package static func seconds(_ range: ClosedRange<Int>) -> Self {
    Format { scalar throws(Diagnostic) in .seconds(try scalar.integer(in: range)) }
  }

  package static func milliseconds(_ range: ClosedRange<Int>) -> Self {
    Format { scalar throws(Diagnostic) in .milliseconds(try scalar.integer(in: range)) }
  }
}

extension Format where Value == String {
  /// A non-empty text on one line without control characters, at most 1024 bytes.
  package static let text = Format { scalar throws(Diagnostic) in
    let text = try scalar.string()
    if let flaw = text.flaw() { throw Diagnostic("\(flaw)") }
    guard text.utf8.count <= 1024 else { throw Diagnostic("must not be longer than 1024 bytes") }
    return text
  }

  /// A text like `text`, with a maximum length.
  ///
  /// - Parameter limit: Maximum length in Unicode scalars, because a `Character` has no maximum
  ///   size.
  package static func text(upTo limit: Int) -> Self {
    Format { scalar throws(Diagnostic) in
      let text = try text.read(scalar)
      if let flaw = text.flaw(upTo: limit) { throw Diagnostic("\(flaw)") }
      return text
    }
  }

  /// A host name or address, without the other parts of a URL.
  package static let host = Format { scalar throws(Diagnostic) in
    let written = try text.read(scalar)
    // As in URLs: `[::1]`.
    let isBracketed = written.hasPrefix("[") && written.hasSuffix("]")
    let host = isBracketed ? String(written.dropFirst().dropLast()) : written
    guard !host.contains(where: { $0 == "/" || $0 == "@" || $0.isWhitespace }) else {
      throw Diagnostic(
        "\(host.quoted) is not a host", hint: "write its name or address only, like 'broker.local'")
    }
    // An IPv6 address has more than one colon.
    guard host.count(where: { $0 == ":" }) != 1, !host.contains("]") else {
      throw Diagnostic("\(host.quoted) contains a port", hint: "write that under 'port'")
    }
    return host
  }

  /// The path of a file. A relative path starts in the folder of the configuration file; that of an
  /// environment variable starts in the folder where the program was started.
  package static let path = Format { scalar throws(Diagnostic) in
    let path = try text.read(scalar)
    guard !path.hasPrefix("~") else {
      throw Diagnostic("'~' is not expanded here", hint: "write the whole path")
    }
    return path.hasPrefix("/") ? path : scalar.folder + path
  }

  /// One or several levels of a topic (MQTT 4.7), without wildcards and without a `$` at the start,
  /// which is reserved for the broker.
  ///
  /// A kiosk receives topics of at most 512 bytes and 32 levels (`MessageLimits.commands`). Some of
  /// them are left for the levels that a device adds.
  package static let topic = Format { scalar throws(Diagnostic) in
    let topic = try text.read(scalar)
    // Brokers search for wildcards by Unicode scalar. In a `String`, a wildcard followed by a
    // combining character is a single `Character`, which differs from the wildcard.
    if let wildcard = topic.unicodeScalars.first(where: { $0 == "+" || $0 == "#" }) {
      throw Diagnostic("must not hold the wildcard '\(wildcard)'")
    }
    guard topic.unicodeScalars.first != "$" else {
      throw Diagnostic("must not start with '$'", hint: "such topics belong to the broker")
    }
    let levels = topic.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard !levels.contains(where: \.isEmpty) else {
      throw Diagnostic("\(topic.quoted) has an empty level", hint: "write it like 'shop/kiosk'")
    }
    try checkSize(of: topic, bytes: 384, levels: 28)
    return topic
  }

  /// The first levels of the topics of kiosks. A kiosk's id, a kind and a name follow: 64 and 7
  /// bytes, and 64 Unicode scalars of up to 4 bytes.
  package static let root = Format { scalar throws(Diagnostic) in
    let root = try topic.read(scalar)
    try checkSize(of: root, bytes: 160, levels: 24)
    return root
  }

  /// Checks the size of a topic or topic filter.
  package static func checkSize(
    of topic: String, bytes: Int, levels: Int
  ) throws(Diagnostic) {
    guard topic.utf8.count <= bytes else {
      throw Diagnostic("must not be longer than \(bytes) bytes")
    }
    guard topic.utf8.count(where: { $0 == UInt8(ascii: "/") }) < levels else {
      throw Diagnostic("must not have more than \(levels) levels")
    }
  }
}

extension Format {
  package static func identifier<Entity>() -> Self where Value == Identifier<Entity> {
    Format { scalar throws(Diagnostic) in
      let text = try scalar.string()
      guard let identifier = Identifier<Entity>(text) else {
        throw Diagnostic(
          "\(text.quoted) cannot be an id", hint: "use 1 to 64 of the letters A-Z a-z 0-9 _ -")
      }
      return identifier
    }
  }

  /// A raw value of the enum, quoted or not.
  package static func choice() -> Self
  where Value: CaseIterable & RawRepresentable<String> & SendableMetatype {
    Format { scalar throws(Diagnostic) in
      let choices = Value.allCases.map(\.rawValue)
      if choices.contains(scalar.text), let value = Value(rawValue: scalar.text) { return value }
      throw Diagnostic(
        "must be \(choices.joined(separator: " or ")), not \(scalar.text.quoted)")
    }
  }
}

extension Format where Value == Currency {
  package static let currency = Format { scalar throws(Diagnostic) in
    let text = try scalar.string()
    guard let currency = Currency(text) else {
      throw Diagnostic(
        "\(text.quoted) is not the code of a currency",
        hint: "write three capital letters, like EUR or KRW")
    }
    return currency
  }
}

extension Format where Value == Money {
  package static func price(in currency: Currency) -> Self {
    Format { scalar throws(Diagnostic) in
      try scalar.money(in: currency, upTo: 1_000_000_000)
    }
  }

  package static let inNoCurrency = Format { _ throws(Diagnostic) in
    throw Diagnostic("has no currency", hint: "add one to the menu, like 'currency: EUR'")
  }
}

extension Format where Value == WallClock {
  /// A name of the system's time zone database.
  package static let timeZone = Format { scalar throws(Diagnostic) in
    let name = try scalar.string()
    guard let clock = WallClock(name) else {
      let known = WallClock.names
      // A common mistake is to write only the city. 'Etc/GMT+9' is west of Greenwich, which hardly
      // anybody means.
      let cities = known.filter { !$0.hasPrefix("Etc/") && !$0.hasPrefix("posix/") }
      let city = cities.filter { "/\($0)".lowercased().hasSuffix("/\(name)".lowercased()) }
        .min { ($0.utf8.count, $0) < ($1.utf8.count, $1) }
      let hint =
        known.isEmpty
        ? "this computer has no time zones; install the package 'tzdata'"
        : city.map { "did you mean '\($0)'?" } ?? "write it like 'Asia/Seoul' or 'UTC'"
      throw Diagnostic("there is no time zone \(name.quoted)", hint: hint)
    }
    return clock
  }

  /// A name like `Asia/Seoul`, or `UTC` or `GMT`. PostgreSQL reads many other names as those of
  /// other zones: `IST` is Israel's time in PostgreSQL, and India's in this program.
  package static let timeZoneRegion = Format { scalar throws(Diagnostic) in
    let name = try scalar.string()
    let clock = try timeZone.read(scalar)
    guard name.contains("/") || name == "UTC" || name == "GMT" else {
      throw Diagnostic(
        "\(name.quoted) is not a region", hint: "write it like 'Asia/Seoul' or 'UTC'")
    }
    return clock
  }
}
