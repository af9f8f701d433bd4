import JuiceDomain
import KioskCore
import KioskProtocol

/// The auditor's knowledge of payment devices and their charges.
struct PaymentModel {
  /// All charges of the ledger, including ended ones, by their numbers.
  var charges: [Int: Entry] = [:]
  /// The last number that the kiosk has given.
  var last = 0
  /// All answers that the kiosk has received, by charge.
  var answers: [Int: Set<Answer>] = [:]
  /// The ends of day that the kiosk has received and not recorded.
  var totals: [String: [Int: PaymentTotal]] = [:]
  /// The ledger's open charges and device records, as last read.
  var open: [Int: Charge] = [:]
  var records: [String: PaymentDeviceRecord] = [:]
  /// The times at which the auditor first read that a charge was sent.
  var sentAt: [Int: Duration] = [:]
  /// The captures and the refunds of the ledger since each device's last total.
  var sums: [String: (captured: Int, refunded: Int)] = [:]
  /// The number of each device's last total in the ledger.
  var lastTotals: [String: Int] = [:]
  /// The charges and the statuses in the kiosk's current batch, or in one that may have been
  /// committed before the kiosk crashed.
  var batch = Batch()
  var lostBatch = Batch()
  /// The devices that may count as silent, and those that become so at the end of this batch.
  var maybeSilent: Set<String> = []
  var nextSilent: Set<String> = []
  /// The captures and the refunds that the kiosk has requested and that no answer has denied.
  var requested: Set<Request> = []
  /// The order that the next entry replaces: its sender, and the number of its last entry.
  var replaced: (source: String, seq: Int)?

  struct Answer: Hashable {
    let status: String
    var cents: Int?
    var isPresented = false
  }

  struct Request: Hashable { let action: String, charge: Int }

  struct Batch {
    var charges: Set<Int> = []
    var statuses: [(device: String, text: String)] = []
    var devices: Set<String> = []
  }

  /// A charge as the entries of the ledger describe it.
  struct Entry {
    let device: String
    var order: Order?
    /// Amounts in cents, or `nil` if there is no such entry.
    var held, captured, refunded, cash: Int?
    /// The decisions of people.
    var decisions: Set<String> = []
  }

  struct Order {
    let seq: Int
    let source: String
    let juice: String
    let quantity: Int
    let ticket: Int
    let used: [String: Int]
    let cents: Int
    let uptime: Duration
    var end: Model.Outcome?
    /// The price of what was made.
    var sold: Int?
    /// Number of messages that clients had sent before its end.
    var sentBefore = 0
  }

  /// Returns the charge of an order.
  func charge(ofOrder seq: Int) -> Int? { charges.first { $0.value.order?.seq == seq }?.key }

  func has(_ charge: Int, _ status: String, _ cents: Int? = nil) -> Bool {
    (answers[charge] ?? []).contains { $0.status == status && (cents == nil || $0.cents == cents) }
  }

  /// Whether the current batch may have changed a charge.
  func isMentioned(_ charge: Int) -> Bool {
    batch.charges.contains(charge) || lostBatch.charges.contains(charge)
  }

  func statuses(of device: String) -> [String] {
    (batch.statuses + lostBatch.statuses).filter { $0.device == device }.map(\.text)
  }

  func mayBeUp(_ device: String) -> Bool {
    records[device]?.status == .online || statuses(of: device).contains("online")
  }

  func mayBeDown(_ device: String) -> Bool {
    records[device]?.status != .online || maybeSilent.contains(device)
      || statuses(of: device).contains { $0 != "online" }
  }
}
