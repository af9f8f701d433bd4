/// The state of a kiosk for monitoring.
package struct KioskHealth: Hashable, Sendable {
  package var at: Timestamp
  /// Seconds since the start of the process.
  package var uptime: Int
  package var counters: Counters
  /// Resident memory of the process in bytes, or `nil` if the system does not report it.
  package var memory: Int?
  /// The number of answers and events that the broker has not confirmed yet.
  package var queue: Int
  package var service: ServiceState
  /// The numbers of fruits that are low and out of stock.
  package var low: Int
  package var out: Int
  /// The numbers of machines that do not work and of jobs that need a decision.
  package var machinesDown: Int
  package var undecided: Int
  /// The state of the payment, or `nil` if nothing is paid.
  package var payment: Payment?
  /// Size of the ledger in bytes, or `nil` if it cannot be read.
  package var ledger: Int?
  /// Free space on the ledger's disk in bytes, or `nil` if it is unknown.
  package var diskFree: Int?
  /// Messages of the chain that the uplink did not handle, because they were too many, since the
  /// start of the process; or `nil` without an uplink.
  package var uplinkDropped: Int?
  /// The last entry of the ledger; to the broker of a chain, the last one that this broker has
  /// confirmed. An archive that lacks it has lost entries. `nil` without entries.
  package var position: LedgerPosition?
  /// Reasons why the broker refused messages of the kiosk, by topic.
  package var refused: [String: String]

  package init(
    at: Timestamp, uptime: Int, counters: Counters, memory: Int?, queue: Int, service: ServiceState,
    low: Int, out: Int, machinesDown: Int = 0, undecided: Int = 0, payment: Payment? = nil,
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
    self.payment = payment
    self.ledger = ledger
    self.diskFree = diskFree
    self.uplinkDropped = uplinkDropped
    self.position = position
    self.refused = refused
  }

  package struct Payment: Hashable, Sendable {
    /// The number of payment devices that take no charges.
    package var down: Int
    /// The number of charges that are neither captured nor over.
    package var open: Int
    /// The difference between the totals of the devices and the ledger, in smallest units.
    package var difference: Int
    /// The captures less the refunds since the last end of day, in smallest units.
    package var taken: Int

    package init(down: Int, open: Int, difference: Int, taken: Int) {
      self.down = down
      self.open = open
      self.difference = difference
      self.taken = taken
    }
  }

  /// Counters since the start of the process.
  package struct Counters: Hashable, Sendable {
    /// Orders that were made.
    package var orders = 0
    /// Orders that were out of stock.
    package var outOfStock = 0
    /// Accepted orders that were not made.
    package var failed = 0
    package var restocks = 0
    package var duplicates = 0
    package var stale = 0
    /// Rejected commands, including stale ones.
    package var rejected = 0
    package var reconnects = 0
    /// Messages that were no command and were not answered.
    package var dropped = 0

    package init() {}
  }

  package var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("at", at.description)
      json.member("uptime", uptime)
      json.member("orders", counters.orders)
      json.member("out_of_stock", counters.outOfStock)
      json.member("failed", counters.failed)
      json.member("restocks", counters.restocks)
      json.member("duplicates", counters.duplicates)
      json.member("stale", counters.stale)
      json.member("rejected", counters.rejected)
      json.member("reconnects", counters.reconnects)
      json.member("dropped", counters.dropped)
      if let memory { json.member("memory", memory) }
      json.member("queue", queue)
      json.member("service", service.rawValue)
      json.member("low", low)
      json.member("out", out)
      json.member("machines_down", machinesDown)
      json.member("undecided", undecided)
      if let payment {
        json.member("payment_devices_down", payment.down)
        json.member("charges_open", payment.open)
        json.member("payment_difference", payment.difference)
        json.member("payment_taken", payment.taken)
      }
      if let ledger { json.member("ledger", ledger) }
      if let diskFree { json.member("disk_free", diskFree) }
      if let uplinkDropped { json.member("uplink_dropped", uplinkDropped) }
      if let position {
        json.member("seq", position.seq)
        json.member("epoch", position.epoch)
      }
      guard !refused.isEmpty else { return }
      json.member(named: "refused") { json in
        for (topic, reason) in refused.sorted(by: { $0.key < $1.key }) {
          json.member(named: topic, reason)
        }
      }
    }
  }
}
