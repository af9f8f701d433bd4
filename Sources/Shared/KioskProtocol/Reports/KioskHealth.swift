/// How a kiosk is doing: for monitoring.
package struct KioskHealth: Hashable, Sendable {
  package var at: Timestamp
  /// Since the process started, in seconds.
  package var uptime: Int
  package var counters: Counters
  /// Resident memory of the process, in bytes; `nil` where the system does not tell.
  package var memory: Int?
  /// Answers and events on their way to the broker, not yet confirmed.
  package var queue: Int
  package var service: ServiceState
  /// How many fruits are low, and how many are out.
  package var low: Int
  package var out: Int
  /// How many machines do not work, and how many jobs wait for a person.
  package var machinesDown: Int
  package var undecided: Int
  /// Size of the ledger, in bytes; `nil` while it cannot be read.
  package var ledger: Int?
  /// What is free on the ledger's disk, in bytes; `nil` if nobody says.
  package var diskFree: Int?
  /// By topic, why the broker has not taken what the kiosk published there.
  package var refused: [String: String]

  package init(
    at: Timestamp, uptime: Int, counters: Counters, memory: Int?, queue: Int, service: ServiceState,
    low: Int, out: Int, machinesDown: Int = 0, undecided: Int = 0, ledger: Int?,
    diskFree: Int? = nil, refused: [String: String] = [:]
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
    self.ledger = ledger
    self.diskFree = diskFree
    self.refused = refused
  }

  /// Counted since the process started.
  package struct Counters: Hashable, Sendable {
    /// Orders that were made.
    package var orders = 0
    /// Orders for which there was too little fruit.
    package var outOfStock = 0
    /// Accepted orders that were not made.
    package var failed = 0
    package var restocks = 0
    package var duplicates = 0
    package var stale = 0
    /// Commands rejected for whatever reason, the stale ones too.
    package var rejected = 0
    package var reconnects = 0
    /// Messages that were no command and got no answer.
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
      if let ledger { json.member("ledger", ledger) }
      if let diskFree { json.member("disk_free", diskFree) }
      guard !refused.isEmpty else { return }
      json.member(named: "refused") { json in
        for (topic, reason) in refused.sorted(by: { $0.key < $1.key }) {
          json.member(named: topic, reason)
        }
      }
    }
  }
}
