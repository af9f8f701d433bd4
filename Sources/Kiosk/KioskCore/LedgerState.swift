package import JuiceDomain
package import KioskProtocol

/// The state of the ledger that a kiosk starts from.
package struct LedgerState: Hashable, Sendable {
  /// The number of the last entry; 0 in a new ledger.
  package var seq = 0
  /// The current epoch; see `LedgerEntry`.
  package var epoch = 0
  /// The stock of every fruit that the ledger has ever held.
  package var stock: FruitAmounts = [:]
  package var service: ServiceState = .open
  /// The levels of the fruits whose level is not `ok`.
  package var alerts: [Fruit.ID: StockAlert] = [:]
  /// The last ticket number of each day, by days since 1970-01-01.
  package var tickets: [Int: Int] = [:]
  /// The entry up to which the broker has confirmed answers and events.
  package var confirmed = 0
  /// The retained topics that may hold a message of this kiosk.
  package var topics: Set<String> = []
  /// The filters that the session with the broker may contain.
  package var subscriptions: Set<String> = []
  /// The last value of each device counter and contact, by its key.
  package var marks: [String: RecentCounters] = [:]
  /// The last orders without an id, the oldest first, for the debounce.
  package var presses: [Press] = []

  /// The open jobs, in the order of their numbers.
  package var jobs: [Job] = []
  package var machines: [MachineID: MachineRecord] = [:]
  /// The configured machines, and the removed machines that made a juice that no configured machine
  /// makes.
  package var makers: [MachineID: Maker] = [:]

  /// The programs that are or were configured.
  package var programs: [ProgramID: ProgramRecord] = [:]

  package var batches: [BatchID: Batch] = [:]
  /// Expired fruit that has not been taken out yet.
  package var expired: [BatchID: ExpiredFruit] = [:]
  /// The entries with which open orders and programs have taken fruit; empty if no such fruit has a date.
  package var taken: [LedgerEntry] = []

  /// The open charges, in the order of their numbers.
  package var charges: [Charge] = []
  package var paymentDevices: [PaymentDeviceID: PaymentDeviceRecord] = [:]
  /// The highest number that a charge of an order has had; 0 if there was none.
  package var lastCharge = 0

  package var sensors: [SensorID: SensorRecord] = [:]

  /// The clocks at the last record of a batch, a sensor or a program, or `nil` before the first.
  package var clock: ClockRecord?

  package struct Press: Hashable, Sendable {
    package let source: Source
    package let order: Order
    package let at: Timestamp
    /// The number of the order's entry.
    package let seq: Int

    package init(source: Source, order: Order, at: Timestamp, seq: Int) {
      self.source = source
      self.order = order
      self.at = at
      self.seq = seq
    }
  }

  package init() {}
}
