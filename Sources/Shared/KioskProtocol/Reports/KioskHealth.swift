/// The state of a kiosk for monitoring.
package struct KioskHealth: Hashable, Sendable {
  package var at: Timestamp
  /// Seconds since the start of the process. Setting the clock does not change them.
  package var uptime: Int
  package var counters: Counters
  /// Resident memory of the process in bytes, or `nil` if the system does not report it.
  package var memory: Int?
  /// The number of messages of the kiosk that the broker has not confirmed yet.
  package var queue: Int
  package var service: ServiceState
  /// The numbers of fruits with the alert levels `low` and `out`.
  package var low: Int
  package var out: Int
  /// The number of machines that cannot take orders, and of jobs and charges that need a decision.
  package var machinesDown: Int
  package var undecided: Int
  /// The number of machines' programs that need a person, or `nil` without programs.
  package var programsDue: Int?
  /// The number of fruits with expired pieces in the kiosk, or `nil` without dates of fruit.
  package var expired: Int?
  /// The number of seconds by which the clock is behind a time that it has shown before, so that
  /// the dates of fruit may be wrong; 0 for less than a minute, or `nil` without dates of fruit.
  package var clockBehind: Int?
  /// The state of the payment, or `nil` if payment is not configured.
  package var payment: Payment?
  /// The state of the sensors, or `nil` without sensors.
  package var sensors: Sensors?
  /// Size of the ledger in bytes, or `nil` if it cannot be read.
  package var ledger: Int?
  /// Free space on the ledger's disk in bytes, or `nil` if it is unknown.
  package var diskFree: Int?
  /// The number of requests and menus of the chain that the uplink has dropped because of its rate
  /// limits since the start of the process; or `nil` without an uplink.
  package var uplinkDropped: Int?
  /// The last entry of the ledger, or `nil` if the ledger is empty or cannot be read. In the report
  /// to the broker of a chain, the last entry that this broker has confirmed, so that an archive
  /// detects missing entries.
  package var position: LedgerPosition?
  /// The reasons why the broker has refused messages since the last connection or reload, by topic.
  package var refused: [String: String]

  package init(
    at: Timestamp, uptime: Int, counters: Counters, memory: Int?, queue: Int, service: ServiceState,
    low: Int, out: Int, machinesDown: Int = 0, undecided: Int = 0, programsDue: Int? = nil,
    expired: Int? = nil, clockBehind: Int? = nil, payment: Payment? = nil, sensors: Sensors? = nil,
    ledger: Int?, diskFree: Int? = nil, uplinkDropped: Int? = nil,
    position: LedgerPosition? = nil, refused: [String: String] = [:]
  ) {
    self.at = at
    self.uptime = uptime
    self.counters = counters
    self.memory = memory
    self.queue = queue
    self.service = service
    self.low = low
    self.out = out
    self.machinesDown = machinesDown
    self.undecided = undecided
    self.programsDue = programsDue
    self.expired = expired
    self.clockBehind = clockBehind
    self.payment = payment
    self.sensors = sensors
    self.ledger = ledger
    self.diskFree = diskFree
    self.uplinkDropped = uplinkDropped
    self.position = position
    self.refused = refused
  }

  package struct Payment: Hashable, Sendable {
    /// The number of payment devices that take no charges.
    package var down: Int
    /// The number of open charges that are not captured.
    package var open: Int
    /// The sum of the magnitudes of the devices' `PaymentReport.difference`, in smallest units.
    package var difference: Int
    /// The captures minus refunds of all devices since their last ends of day, in smallest units.
    package var taken: Int

    package init(down: Int, open: Int, difference: Int, taken: Int) {
      self.down = down
      self.open = open
      self.difference = difference
      self.taken = taken
    }
  }

  package struct Sensors: Hashable, Sendable {
    /// The number of sensors in the state `alarm`.
    package var alarm: Int
    /// The number of sensors in the state `blocked`.
    package var blocked: Int
    /// The number of silent sensors, whatever their state.
    package var silent: Int

    package init(_ reports: [(sensor: SensorID, report: SensorReport)]) {
      alarm = reports.count { $0.report.state == .alarm }
      blocked = reports.count { $0.report.state == .blocked }
      silent = reports.count(where: \.report.isSilent)
    }
  }

  /// Counters since the start of the process.
  package struct Counters: Hashable, Sendable {
    /// Orders that were made.
    package var orders = 0
    /// Orders with the result `out_of_stock`.
    package var outOfStock = 0
    /// Orders that a machine got and did not make completely.
    package var failed = 0
    package var restocks = 0
    package var duplicates = 0
    package var stale = 0
    /// Rejected commands, including stale ones and rejected messages of machines and devices.
    package var rejected = 0
    package var reconnects = 0
    /// Messages that the kiosk ignored: with an unknown or too long topic, or too large and no command.
    package var dropped = 0

    package init() {}
  }

  /// The disk that stores the ledger.
  package struct Disk: Hashable, Sendable {
    /// The free space in bytes.
    package let free: Int
    /// The size of the ledger in bytes.
    package let ledger: Int

    package init(free: Int, ledger: Int) {
      self.free = free
      self.ledger = ledger
    }

    package enum FreeSpace: Sendable {
      case enough
      /// Less than 256 MB or than the ledger's size: an update may have to copy the ledger.
      case low
      /// Less than 16 MB: soon the kiosk cannot commit, and orders stay at the broker.
      case full
    }

    package var freeSpace: FreeSpace {
      free < 16_000_000 ? .full : free < max(256_000_000, ledger) ? .low : .enough
    }
  }

  /// The ledger's disk, or `nil` if the kiosk does not report it.
  package var disk: Disk? { diskFree.map { Disk(free: $0, ledger: ledger ?? 0) } }
}

extension KioskHealth: FormattedMessage {
  /// Requires only the time, because the kiosk may run another version. A position or payment must be complete.
  package init(_ members: inout Members<Self>) throws(JSONError) {
    at = try members.required("at", \.at)
    uptime = try members.required("uptime", \.uptime, or: .max)
    counters = try members.members(\.counters)
    memory = members.optional("memory", \.memory)
    queue = try members.required("queue", \.queue, or: 0)
    service = try members.required("service", \.service, or: .open)
    low = try members.required("low", \.low, or: 0)
    out = try members.required("out", \.out, or: 0)
    machinesDown = try members.required("machines_down", \.machinesDown, or: 0)
    undecided = try members.required("undecided", \.undecided, or: 0)
    programsDue = members.optional("programs_due", \.programsDue)
    expired = members.optional("expired", \.expired)
    clockBehind = members.optional("clock_behind", \.clockBehind)
    payment = try members.members(\.payment, ifPresent: "payment_devices_down")
    sensors = try members.members(\.sensors, ifPresent: "sensors_alarm")
    ledger = members.optional("ledger", \.ledger)
    diskFree = members.optional("disk_free", \.diskFree)
    uplinkDropped = members.optional("uplink_dropped", \.uplinkDropped)
    position = try members.members(\.position, ifPresent: "seq")
    refused = members.texts("refused", \.refused)
  }
}

extension KioskHealth.Counters: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    orders = try members.required("orders", \.orders, or: 0)
    outOfStock = try members.required("out_of_stock", \.outOfStock, or: 0)
    failed = try members.required("failed", \.failed, or: 0)
    restocks = try members.required("restocks", \.restocks, or: 0)
    duplicates = try members.required("duplicates", \.duplicates, or: 0)
    stale = try members.required("stale", \.stale, or: 0)
    rejected = try members.required("rejected", \.rejected, or: 0)
    reconnects = try members.required("reconnects", \.reconnects, or: 0)
    dropped = try members.required("dropped", \.dropped, or: 0)
  }
}

extension KioskHealth.Sensors: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    alarm = try members.required("sensors_alarm", \.alarm)
    blocked = try members.required("sensors_blocked", \.blocked, or: 0)
    silent = try members.required("sensors_silent", \.silent, or: 0)
  }
}

extension KioskHealth.Payment: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    down = try members.required("payment_devices_down", \.down)
    open = try members.required("charges_open", \.open)
    difference = try members.required("payment_difference", \.difference)
    taken = try members.required("payment_taken", \.taken)
  }
}
