package import Devices
package import JuiceDomain
package import KioskProtocol
package import MessageBroker

/// What makes one kiosk different from another, checked and complete.
package struct KioskSettings: Sendable {
  package var topics: KioskTopics
  /// What people call the kiosk, and where it stands.
  package var name: LocalizedName?
  package var place: String?
  package var language: Language
  /// For the day's sales.
  package var wallClock: WallClock
  package var menu: Menu
  /// Of the menu if it comes from above.
  package var menuVersion: Int?
  package var stock: Stock
  package var orders: Orders
  /// Devices that speak topics of their own.
  package var panels: [PanelBinding] = []
  package var displays: [Display] = []
  /// Those that make the juices; none: a juice is ready when its order is committed.
  package var machines: [Machine] = []
  /// Retained beside the kiosk's own state: what others know it by.
  package var announcements: [Message] = []
  /// Who wants to hear all that is retained again when they have come back.
  package var births: [Birth] = []
  /// Of the program.
  package var version: String

  package init(
    topics: KioskTopics, language: Language = .english,
    wallClock: WallClock = .utc, menu: Menu = .standard, stock: Stock,
    orders: Orders = Orders(), version: String
  ) {
    self.topics = topics
    self.language = language
    self.wallClock = wallClock
    self.menu = menu
    self.stock = stock
    self.orders = orders
    self.version = version
  }

  /// Numbers for every fruit of the menu.
  package struct Stock: Sendable, Equatable {
    /// What a fruit that is new to the ledger starts with.
    package var initial: FruitAmounts
    /// The most that a restock may leave.
    package var capacities: FruitAmounts
    /// At and below it an alert says `low`; 0: never.
    package var lowThresholds: FruitAmounts

    package init(initial: FruitAmounts, capacities: FruitAmounts, lowThresholds: FruitAmounts) {
      self.initial = initial
      self.capacities = capacities
      self.lowThresholds = lowThresholds
    }
  }

  package struct Orders: Sendable, Equatable {
    /// A command that is older is not carried out; nor is what waited for longer while the kiosk
    /// was away.
    package var maximumAge: Duration
    /// Glasses in one order.
    package var maximumQuantity: Int
    /// Presses without an id of the same button within this time are one press.
    package var debounce: Duration
    /// Commands of one sender; 0: no limit.
    package var maximumPerSecond: Int

    package init(
      maximumAge: Duration = .seconds(30), maximumQuantity: Int = 10, debounce: Duration = .zero,
      maximumPerSecond: Int = 50
    ) {
      self.maximumAge = maximumAge
      self.maximumQuantity = maximumQuantity
      self.debounce = debounce
      self.maximumPerSecond = maximumPerSecond
    }
  }
}

extension KioskSettings {
  package struct Machine: Sendable, Equatable {
    package var name: MachineID
    /// What it makes; `nil`: all that is on the menu.
    package var juices: Set<Juice.ID>?
    /// Jobs that it takes at a time.
    package var atOnce: Int
    /// Within which it says that it has begun, and that it is done.
    package var startLimit, finishLimit: Duration
    /// Whether the fruit of a failed job is still there, if the machine does not say.
    package var returnsFruit: Bool

    package init(
      name: MachineID, juices: Set<Juice.ID>? = nil, atOnce: Int = 1,
      startLimit: Duration = .seconds(15), finishLimit: Duration = .seconds(120),
      returnsFruit: Bool = true
    ) {
      self.name = name
      self.juices = juices
      self.atOnce = atOnce
      self.startLimit = startLimit
      self.finishLimit = finishLimit
      self.returnsFruit = returnsFruit
    }

    package func makes(_ juice: Juice.ID) -> Bool { juices?.contains(juice) ?? true }
  }

  /// With the machines that left the configuration while they had jobs: they get no others, but may
  /// say what became of these, or a person may.
  package func keepingMachines(of jobs: [Job]) -> Self {
    var settings = self
    for name in jobs.map(\.machine) where !settings.machines.contains(where: { $0.name == name }) {
      settings.machines.append(Machine(name: name, juices: [], atOnce: 0))
    }
    return settings
  }

  /// What the kiosk takes; jobs only if there are machines.
  package var commandKinds: [Command.Kind] {
    machines.isEmpty ? [.order, .restock, .service] : Command.Kind.allCases
  }

  package func info(startedAt: Timestamp) -> KioskInfo {
    KioskInfo(
      version: version, startedAt: startedAt, name: name, place: place, menuVersion: menuVersion)
  }

  package var menuReport: MenuReport {
    MenuReport(menu: menu, capacities: stock.capacities, lowThresholds: stock.lowThresholds)
  }

  /// What the kiosk subscribes to, each once.
  package var subscriptions: [TopicFilter] {
    var seen: Set<TopicFilter> = []
    return
      (commandFilters
      + (machines.map { topics.status(of: $0.name) } + panels.flatMap(\.filters) + birthTopics).map(
        TopicFilter.init(unchecked:)))
      .filter { seen.insert($0).inserted }
  }

  /// Where a retained command is to be known for one, through a bridge too. Devices may retain what they
  /// say.
  package var commandFilters: [TopicFilter] {
    commandKinds.map { TopicFilter(unchecked: topics.filter(for: $0)) }
  }

  var birthTopics: [String] { births.map(\.topic) + displays.compactMap { $0.birth?.topic } }

  /// Whether somebody has come back now: what the broker has kept is older than this connection,
  /// which has begun with all that is retained.
  package func hasBirth(among deliveries: [Delivery]) -> Bool {
    !births.isEmpty
      && deliveries.contains { delivery in
        let message = delivery.message
        return !message.retain
          && births.contains { $0.matches(topic: message.topic, payload: message.payload) }
      }
  }
}
