package import Devices
package import JuiceDomain
package import KioskProtocol
package import MessageBroker
package import TimeZones

/// The validated settings of one kiosk.
package struct KioskSettings: Sendable {
  package var topics: KioskTopics
  /// The display name and the location, or `nil` if not configured.
  package var name: LocalizedName?
  package var place: String?
  package var region: String?
  /// The kiosk's own words to customers, or `nil` if there are none.
  package var notice: LocalizedName?
  package var language: Language
  /// The clock of the kiosk's time zone, for opening hours, tickets and sales.
  package var wallClock: WallClock
  package var menu: Menu
  /// The version of the menu, or `nil` if it is not a menu from the chain.
  package var menuVersion: Int?
  /// The reason why the kiosk cannot use the chain's stored menu, or `nil` if it uses that menu or none is stored.
  package var menuProblem: String?
  package var stock: Stock
  package var orders: Orders
  /// The hours in which the kiosk takes orders, or `nil` if it takes them at all hours.
  package var hours: OpeningHours?
  /// The published settings, or `nil` if the kiosk has neither hours nor a stored change of settings.
  package var settingsReport: SettingsReport?
  /// Panels that use topics of their own.
  package var panels: [PanelBinding] = []
  package var displays: [Display] = []
  /// The machines that make juices. If empty, no juice needs a machine.
  package var machines: [Machine] = []
  package var sensors: [Sensor] = []
  /// The payment at devices, or `nil` if no customer pays at a device and no charge is open.
  package var payment: Payment?
  /// Retained messages in addition to the kiosk's own state, such as those of Home Assistant
  /// discovery.
  package var announcements: [Message] = []
  /// The messages that replace `announcements` if `Batches.isActive`.
  package var announcementsWithDates: [Message] = []
  /// Birth messages of other systems, after which the kiosk publishes all retained messages again.
  package var births: [Birth] = []
  /// The version of the program.
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

  /// Stock settings of every fruit of the menu.
  package struct Stock: Sendable, Equatable {
    /// The stock of each fruit in a new ledger.
    package var initial: FruitAmounts
    /// The amount up to which a restock may raise each fruit's stock.
    package var capacities: FruitAmounts
    /// The low mark of each fruit: the stock at and below which its alert is `low`, or `out`; see
    /// `StockAlert`. If 0, the alert is never `low`.
    package var lowMarks: FruitAmounts

    package init(initial: FruitAmounts, capacities: FruitAmounts, lowMarks: FruitAmounts) {
      self.initial = initial
      self.capacities = capacities
      self.lowMarks = lowMarks
    }
  }

  package struct Orders: Sendable, Equatable {
    /// Maximum age of a command by its `sent_at`, and of an order that is queued for a machine or a payment device.
    /// Also the session expiry interval: the broker discards queued commands when the kiosk is offline for longer.
    package var maximumAge: Duration
    /// Maximum number of glasses in one order.
    package var maximumQuantity: Int
    /// The time within which equal orders of one sender count as one order, if they have no id.
    package var debounce: Duration
    /// Maximum number of commands per second from one sender; 0 for no limit.
    package var maximumPerSecond: Int
    /// The senders that get the short form of results; see `CommandResult.shortPayload`.
    package var shortResults: Set<String>

    package init(
      maximumAge: Duration = .seconds(30), maximumQuantity: Int = 10, debounce: Duration = .zero,
      maximumPerSecond: Int = 50, shortResults: Set<String> = []
    ) {
      self.maximumAge = maximumAge
      self.maximumQuantity = maximumQuantity
      self.debounce = debounce
      self.maximumPerSecond = maximumPerSecond
      self.shortResults = shortResults
    }
  }
}

extension KioskSettings {
  /// The devices at which customers pay, and the panels whose customers need not pay.
  package struct Payment: Sendable, Equatable {
    package var devices: [Device]
    /// The time in which a customer must pay. Each `waiting` of the device restarts it, see `longestPrompt`.
    package var payLimit: Duration
    /// The panels whose orders cost nothing, such as those of the staff.
    package var freePanels: Set<String>
    /// Whether orders must be paid. `false` if only charges of an earlier configuration are open.
    package var isEnabled: Bool

    package init(
      devices: [Device], payLimit: Duration = .seconds(45), freePanels: Set<String> = [],
      isEnabled: Bool = true
    ) {
      self.devices = devices
      self.payLimit = payLimit
      self.freePanels = freePanels
      self.isEnabled = isEnabled
    }

    package struct Device: Sendable, Equatable {
      package var name: PaymentDeviceID
      /// The panels whose customers pay here, or `nil` for all panels.
      package var panels: Set<String>?
      /// Whether the device gets new charges.
      package var isEnabled: Bool

      package init(name: PaymentDeviceID, panels: Set<String>? = nil, isEnabled: Bool = true) {
        self.name = name
        self.panels = panels
        self.isEnabled = isEnabled
      }

      func serves(_ panel: String) -> Bool { panels?.contains(panel) ?? true }
    }
  }

  /// Returns settings that include the devices that are no longer configured but have open charges.
  /// Such a device may still report on a charge, and a person may decide about the charge.
  package func keepingPayment(of charges: [Charge]) -> Self {
    var settings = self
    for device in charges.map(\.device) {
      if settings.payment?.devices.contains(where: { $0.name == device }) == true { continue }
      var payment = settings.payment ?? Payment(devices: [], isEnabled: false)
      payment.devices.append(Payment.Device(name: device, isEnabled: false))
      settings.payment = payment
    }
    return settings
  }

  package struct Machine: Sendable, Equatable {
    package var name: MachineID
    /// Whether the machine gets jobs. The juices of a disabled machine are not sold, unless another
    /// machine makes them.
    package var isEnabled: Bool
    /// The juices that the machine makes, or `nil` for all juices of the menu.
    package var juices: Set<Juice.ID>?
    /// Maximum number of jobs that the machine takes at a time.
    package var atOnce: Int
    /// Maximum time until the machine reports that it has begun a job, and then until it reports
    /// the result.
    package var startLimit, finishLimit: Duration
    /// Whether a failed job uses no fruit, if the machine does not report the used fruit.
    package var returnsFruit: Bool

    package init(
      name: MachineID, isEnabled: Bool = true, juices: Set<Juice.ID>? = nil, atOnce: Int = 1,
      startLimit: Duration = .seconds(15), finishLimit: Duration = .seconds(120),
      returnsFruit: Bool = true
    ) {
      self.name = name
      self.isEnabled = isEnabled
      self.juices = juices
      self.atOnce = atOnce
      self.startLimit = startLimit
      self.finishLimit = finishLimit
      self.returnsFruit = returnsFruit
    }

    /// The programs of the machine, by name. The kiosk sends no other program to it.
    package var programs: [MachineProgram: Program] = [:]

    /// Times at which a program is due, and its limits.
    package struct Program: Sendable, Equatable {
      package var every: Duration?
      package var everyGlasses: Int?
      /// The time after the machine's last glass at which the program is due.
      package var idle: Duration?
      /// The opening or the closing of the kiosk, if the program is due then.
      package var at: MachineProgram.Cause?
      /// The time for which a `clean` may be due. After that the machine takes no orders.
      package var grace = Duration.seconds(3_600)
      /// Maximum time from the start of the program until the machine reports its end.
      package var finishLimit = Duration.seconds(600)
      package var uses: FruitAmounts = [:]
      /// Whether the kiosk starts the program when it is due. If `false`, a person must start it.
      package var isAutomatic = true

      package init() {}
    }

    package func makes(_ juice: Juice.ID) -> Bool { juices?.contains(juice) ?? true }
  }

  /// Returns settings that include machines that are no longer configured: the machines of open
  /// jobs, and those that made a juice that no machine makes now (see `departed`). Such a machine
  /// is disabled, but it may still report on its jobs, and a person may decide about these jobs.
  ///
  /// - Parameter makers: The makers that the ledger has recorded. Without them, a kiosk whose only
  ///   machine was removed would answer an order with `ready`, and would not make the juice.
  package func keepingMachines(of jobs: [Job], _ makers: [MachineID: Maker]) -> Self {
    var settings = self
    settings.machines += departed(among: makers).sorted { $0.key < $1.key }.map { name, maker in
      Machine(name: name, isEnabled: false, juices: maker.juices)
    }
    for name in jobs.map(\.machine) where !settings.machines.contains(where: { $0.name == name }) {
      settings.machines.append(Machine(name: name, isEnabled: false, juices: []))
    }
    return settings
  }

  /// Returns the makers that are no longer configured, and made a juice that no machine makes now.
  /// A maker of the whole menu counts unless a configured machine makes the whole menu.
  private func departed(among makers: [MachineID: Maker]) -> [MachineID: Maker] {
    makers.filter { name, maker in
      if machines.contains(where: { $0.name == name }) { return false }
      guard let juices = maker.juices else { return !machines.contains { $0.juices == nil } }
      return !juices.allSatisfy { juice in machines.contains { $0.makes(juice) } }
    }
  }

  /// Returns the makers to record: the machines of these settings, and the departed ones.
  package func makers(recorded makers: [MachineID: Maker] = [:]) -> [MachineID: Maker] {
    machines.reduce(into: departed(among: makers)) { $0[$1.name] = Maker(juices: $1.juices) }
  }

  /// A sensor, its limits, and the fruits and machines that it protects.
  package struct Sensor: Sendable, Equatable {
    package var name: SensorID
    package var binding: SensorBinding
    package var unit: SensorUnit
    /// The limits in thousandths of the unit, or `nil` for no limit.
    package var minimum, maximum: Int?
    /// The time outside the limits after which the state is `alarm`, and the time after which the
    /// sensor blocks fruits and machines, or `nil` if it never blocks them.
    package var alarmAfter: Duration
    package var blockAfter: Duration?
    /// The time without a reading after which the sensor counts as silent.
    package var silentAfter: Duration
    /// The time after which a value that does not change is no reading, or `nil` for never.
    package var stuckAfter: Duration?
    package var fruits: [Fruit.ID]
    package var machines: [MachineID]

    package init(
      name: SensorID, binding: SensorBinding, unit: SensorUnit, minimum: Int? = nil,
      maximum: Int? = nil, alarmAfter: Duration = .seconds(600), blockAfter: Duration? = nil,
      silentAfter: Duration = .seconds(3600), fruits: [Fruit.ID] = [], machines: [MachineID] = []
    ) {
      self.name = name
      self.binding = binding
      self.unit = unit
      (self.minimum, self.maximum) = (minimum, maximum)
      (self.alarmAfter, self.blockAfter, self.silentAfter) = (alarmAfter, blockAfter, silentAfter)
      (self.fruits, self.machines) = (fruits, machines)
    }

    package func isWithinLimits(_ value: Int) -> Bool {
      value >= minimum ?? .min && value <= maximum ?? .max
    }

    /// Returns whether a value is within the limits by the distance that ends an alarm.
    func endsAlarm(_ value: Int) -> Bool {
      // With narrow limits, a quarter of the range.
      let range = minimum.flatMap { low in maximum.map { $0 - low } }
      let distance = min(unit.hysteresis, (range ?? .max) / 4)
      return value >= minimum.map { $0 + distance } ?? .min
        && value <= maximum.map { $0 - distance } ?? .max
    }

    /// The time without a reading after which the sensor blocks, while the kiosk runs: a sensor that
    /// is silent counts as outside its limits. Is `nil` if it never blocks.
    var blockAfterSilence: Duration? { blockAfter.map { silentAfter + $0 } }
  }

  /// The kinds of commands that the kiosk accepts. They depend on its machines and payment devices.
  /// The kind `job` includes the decisions about charges and sensors, also about the sensor `clock`,
  /// which each kiosk has.
  package var commandKinds: [Command.Kind] {
    var kinds: [Command.Kind] = [.order, .restock, .service, .settings, .job]
    if !machines.isEmpty { kinds.append(.made) }
    if payment != nil { kinds.append(.paid) }
    if machines.contains(where: { !$0.programs.isEmpty }) { kinds.append(.program) }
    return kinds
  }

  /// The topics on which payment devices publish their statuses and totals.
  package var paymentTopics: [String] {
    (payment?.devices ?? []).flatMap {
      [topics.paymentStatus(of: $0.name), topics.paymentTotal(of: $0.name)]
    }
  }

  /// The topics on which the broker keeps the last text of a display.
  package var retainedDisplayTopics: [String] { displays.filter(\.retain).flatMap(\.topics) }

  package func info(startedAt: Timestamp) -> KioskInfo {
    KioskInfo(
      version: version, startedAt: startedAt, name: name, place: place, region: region,
      notice: notice, language: language, menuVersion: menuVersion, menuProblem: menuProblem)
  }

  package var menuReport: MenuReport {
    MenuReport(menu: menu, capacities: stock.capacities, lowMarks: stock.lowMarks)
  }

  /// The topic filters that the kiosk subscribes to. They do not overlap: the list omits a filter
  /// that another filter covers, for example the topic of a birth message that a panel's filter
  /// covers. The configuration rejects panels whose filters overlap in part.
  package var subscriptions: [TopicFilter] {
    var filters = machines.map { topics.status(of: $0.name) }
    filters += paymentTopics + paymentReportTopics
    filters += panels.flatMap(\.filters)
    filters += sensors.map(\.binding.topic)
    filters += birthTopics
    filters.append(topics.reportFilter)
    return (commandFilters + filters.map(TopicFilter.init(unchecked:))).withoutCovered()
  }

  /// The filters of command topics, for which the broker must keep the retain flag (retain as
  /// published), also through a bridge. Topics of devices are not included, because devices may
  /// retain their messages.
  package var commandFilters: [TopicFilter] {
    commandKinds.map { TopicFilter(unchecked: topics.filter(for: $0)) }
  }

  var birthTopics: [String] { births.map(\.topic) + displays.compactMap { $0.birth?.topic } }

  /// The kiosk's own retained topics about payment devices.
  package var paymentReportTopics: [String] {
    (payment?.devices ?? []).map { topics.payment(at: $0.name) }
  }

  /// Returns whether a batch shows that another client has cleared a retained topic of payment.
  package func hasClearedPayment(among deliveries: [Delivery]) -> Bool {
    payment != nil
      && deliveries.contains { delivery in
        delivery.message.payload.isEmpty
          && (paymentReportTopics + paymentTopics).contains(delivery.message.topic)
      }
  }

  /// Returns whether a batch has one of `births`. Retained messages do not count: they are older
  /// than this connection, on which the kiosk has already published all its retained messages.
  package func hasBirth(among deliveries: [Delivery]) -> Bool {
    !births.isEmpty
      && deliveries.contains { delivery in
        let message = delivery.message
        return !message.retain
          && births.contains { $0.matches(topic: message.topic, payload: message.payload) }
      }
  }
}
