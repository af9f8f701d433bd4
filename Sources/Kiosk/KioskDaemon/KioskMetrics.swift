import CoreMetrics
import JuiceDomain
import KioskCore
import KioskProtocol
import Ledger

/// What the kiosk counts and measures for a metrics backend; `deploy/docs/operations.md` lists it.
///
/// Everything is made once, so that an order costs no look-up; without a backend there is none of it.
struct KioskMetrics: Sendable {
  private let orders: [LedgerEntry.Status: Counter]
  private let restocks = Counter(label: "juice_kiosk_restocks")
  private let rejections: [RejectionReason: Counter]
  private let duplicates = Counter(label: "juice_kiosk_duplicates")
  private let reconnects = Counter(label: "juice_kiosk_reconnects")
  private let batch = Recorder(label: "juice_kiosk_batch_size")
  private let commit = Timer(label: "juice_kiosk_commit_duration")
  private let unconfirmed = Gauge(label: "juice_kiosk_unconfirmed_messages")
  private let ledger = Gauge(label: "juice_kiosk_ledger_bytes")
  private var machines: MachineMetrics
  private var stock: [Fruit.ID: Gauge] = [:]
  /// Of the duplicates, how many are told.
  private var reportedDuplicates = 0

  /// - Returns: `nil` if no backend is there.
  init?(of core: Kiosk) {
    if MetricsSystem.factory is NOOPMetricsHandler { return nil }
    machines = MachineMetrics(core.jobs)
    orders = Self.each([.ready, .made, .failed, .returned, .outOfStock, .rejected]) {
      Counter(label: "juice_kiosk_orders", dimensions: [("status", $0.rawValue)])
    }
    rejections = Self.each(RejectionReason.allCases) {
      Counter(label: "juice_kiosk_rejections", dimensions: [("reason", $0.rawValue)])
    }
    adopt(core.settings.menu)
  }

  /// A fruit that has left the menu is told no more.
  mutating func adopt(_ menu: Menu) {
    let fruits = menu.fruits.map(\.id)
    for (fruit, gauge) in stock where !fruits.contains(fruit) { gauge.destroy() }
    stock = Self.each(fruits) { fruit in
      stock[fruit]
        ?? Gauge(label: "juice_kiosk_stock", dimensions: [("fruit", fruit.text)])
    }
  }

  func committed(since start: ContinuousClock.Instant?) {
    guard let start else { return }
    let (seconds, attoseconds) = (ContinuousClock.now - start).components
    commit.recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
  }

  mutating func cycled(_ deliveries: Int, _ decision: Decision, _ core: Kiosk) {
    batch.record(deliveries)
    for record in decision.transaction.records {
      if record.row.entry.source?.kind == .order { orders[record.row.entry.status]?.increment() }
      switch record.row.entry.outcome {
      case .restocked: restocks.increment()
      case .rejected(let reason, _): rejections[reason]?.increment()
      default: break
      }
      machines.count(record.row.entry)
    }
    for (source, rejection) in decision.rejections {
      if source.kind == .order { orders[.rejected]?.increment() }
      rejections[rejection.reason]?.increment()
    }
    duplicates.increment(by: core.counters.duplicates - reportedDuplicates)
    reportedDuplicates = core.counters.duplicates
    if !decision.transaction.records.isEmpty || decision.machinesChanged { update(core) }
  }

  mutating func update(_ core: Kiosk) {
    for (fruit, amount) in core.stock { stock[fruit]?.record(amount) }
    machines.update(core.jobs)
  }

  func reconnected() { reconnects.increment() }

  /// - Parameter ledger: its size in bytes; `nil` if that is not known.
  func measured(unconfirmed depth: Int, ledger size: Int?) {
    unconfirmed.record(depth)
    if let size { ledger.record(size) }
  }

  private static func each<Key: Hashable, Metric>(
    _ keys: some Sequence<Key>, _ make: (Key) -> Metric
  ) -> [Key: Metric] {
    Dictionary(keys.map { ($0, make($0)) }, uniquingKeysWith: { first, _ in first })
  }
}
