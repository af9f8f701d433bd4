package import JuiceDomain

/// Where a kiosk listens and speaks: every topic below `<root>/<kiosk>`.
package struct KioskTopics: Hashable, Sendable {
  /// `kiosk/k1`
  package let base: String

  /// - Parameter root: one or more topic levels without wildcards.
  package init(root: String, kiosk: KioskID) {
    base = "\(root)/\(kiosk)"
  }

  /// The filter under which the controller hears every command of a kind.
  package func filter(for kind: Command.Kind) -> String { "\(base)/\(kind.rawValue)/+" }

  /// The topic to which `source` sends its commands.
  package func command(from source: Source) -> String { "\(base)/\(source.description)" }

  /// The topic on which `source` hears what became of its commands.
  package func result(for source: Source) -> String { "\(base)/\(source.description)/result" }

  /// Who sent the command on a topic; `nil` if the topic is not one for commands.
  package func source(ofCommandOn topic: String) -> Source? {
    let slash = UInt8(ascii: "/")
    var (topic, base) = (topic, base)
    return topic.withUTF8 { topic in
      guard base.withUTF8({ topic.starts(with: $0) }) else { return nil }
      let levels = topic.dropFirst(base.utf8.count)
      guard levels.first == slash, let end = levels.dropFirst().firstIndex(of: slash) else {
        return nil
      }
      let (kind, name) = (levels[..<end].dropFirst(), levels[end...].dropFirst())
      guard !name.contains(slash),
        let kind = Command.Kind(rawValue: String(decoding: kind, as: UTF8.self))
      else { return nil }
      return Source(kind: kind, name: String(decoding: name, as: UTF8.self))
    }
  }

  /// The stock of one fruit, as a bare number.
  package func stock(of fruit: Fruit.ID) -> String { "\(base)/stock/\(fruit)" }
  /// The stock of all fruits: a `StockReport`.
  package var stock: String { "\(base)/stock" }
  /// How many glasses of a juice can be made now, as a bare number.
  package func servings(of juice: Juice.ID) -> String { "\(base)/juice/\(juice)" }
  /// A `MenuReport`.
  package var menu: String { "\(base)/menu" }
  /// A `StockAlert`.
  package func alert(for fruit: Fruit.ID) -> String { "\(base)/alert/\(fruit)" }
  /// A `ServiceState`.
  package var service: String { "\(base)/service" }
  /// A `KioskStatus`.
  package var status: String { "\(base)/status" }
  /// A `KioskInfo`.
  package var info: String { "\(base)/info" }
  /// A `KioskHealth`.
  package var health: String { "\(base)/health" }
  /// A `SalesReport`.
  package var sales: String { "\(base)/sales" }
  /// A `ForecastReport`.
  package var forecast: String { "\(base)/forecast" }
  /// A `HistoryReport`.
  package var history: String { "\(base)/history" }
  /// What a machine is to make: a `MachineOrder`.
  package func make(by machine: MachineID) -> String { "\(base)/make/\(machine)" }
  /// What a machine is not to begin.
  package func cancel(by machine: MachineID) -> String { "\(base)/make/\(machine)/cancel" }
  /// What a machine has made: a `MachineAnswer`.
  package func made(by machine: MachineID) -> String { "\(base)/made/\(machine)" }
  /// A `MachineReport`.
  package func report(of machine: MachineID) -> String { "\(base)/machine/\(machine)" }
  /// A `MachineStatus`.
  package func status(of machine: MachineID) -> String { "\(base)/machine/\(machine)/status" }
  /// Every `LedgerEntry`, as it is made.
  package var events: String { "\(base)/events" }

  // Of the way up only.

  /// Where a chain says what the kiosk is to sell: a `DesiredMenu`.
  package var desiredMenu: String { "\(base)/menu/desired" }
  /// What has come of it: a `DesiredMenuReport`.
  package var reportedMenu: String { "\(base)/menu/reported" }
  /// Where an archive asks for entries that it has missed: a `ReplayRequest`.
  package func replay(by archive: Request.ID) -> String { "\(base)/replay/\(archive.text)" }
  /// The filter under which the kiosk hears every archive.
  package var replayFilter: String { "\(base)/replay/+" }
  /// What comes of it: a `ReplayResult`.
  package func replayResult(for archive: Request.ID) -> String { "\(replay(by: archive))/result" }
  /// Who asks on a topic; `nil` if nobody asks there.
  package func archive(requestedOn topic: String) -> Request.ID? {
    let start = "\(base)/replay/"
    guard topic.utf8.starts(with: start.utf8) else { return nil }
    return Request.ID(String(topic.utf8.dropFirst(start.utf8.count)) ?? "")
  }
}

/// Who gave a command: `order/panel1` in the ledger, the end of the topic on the wire.
package struct Source: Hashable, Sendable, CustomStringConvertible {
  package let kind: Command.Kind
  /// One topic level.
  package let name: String
  package let description: String

  package init(kind: Command.Kind, name: String) {
    self.kind = kind
    self.name = name
    description = kind.rawValue + "/" + name
  }

  /// Reads what `description` has written; `nil` for anything else.
  package init?(_ description: String) {
    // By bytes: to a `String`, a slash and a combining character after it are one that is no slash.
    let parts = description.utf8
      .split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
      .map { String(Substring($0)) }
    guard parts.count == 2, let kind = Command.Kind(rawValue: parts[0]) else { return nil }
    self.init(kind: kind, name: parts[1])
  }

  /// What is wrong with the name; `nil` if nothing is. People may name a panel in any script, but a
  /// name is one to 64 Unicode scalars (a `Character` has no bound), none of them a control
  /// character or one that means something in a topic filter (MQTT 4.7.1).
  package var flaw: String? {
    // Nearly every name is a short one of letters and digits.
    if (1...64).contains(name.utf8.count), name.utf8.allSatisfy(\.isIdentifierCharacter) {
      return nil
    }
    if name.isEmpty { return "the last level of the topic is empty: name the \(kind.sender) there" }
    if name.unicodeScalars.count > 64 {
      return "the name of the \(kind.sender) has more than 64 characters"
    }
    if name.unicodeScalars.contains(where: \.isControl) {
      return "there is a control character in the name of the \(kind.sender)"
    }
    if name.utf8.contains(where: "/+#".utf8.contains) {
      return "the name of the \(kind.sender) is one level of a topic: without /, + and #"
    }
    return nil
  }
}

extension Unicode.Scalar {
  /// Whether its general category is `control`, without asking Unicode's tables.
  package var isControl: Bool { value < 0x20 || (0x7F..<0xA0).contains(value) }
}

// Brokers compare topics byte by byte (MQTT 4.7.3), and so does the ledger; `String` would take two
// names that only look the same for one.
extension Source {
  package static func == (left: Self, right: Self) -> Bool {
    var (left, right) = (left.description, right.description)
    return left.withUTF8 { left in right.withUTF8 { left.elementsEqual($0) } }
  }

  package func hash(into hasher: inout Hasher) {
    var description = description
    description.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}
