import JuiceDomain
import KioskProtocol

/// The open charges of a kiosk, and the devices at which customers pay.
///
/// | state of a charge | next state |
/// |---|---|
/// | `queued` | `sent` when its device is free; the order ends after `orders.maximumAge` |
/// | `sent`, `waiting` | `held`; the order ends if the device declines, or after the time to pay |
/// | `held` | `capturing` when the juice is made, `releasing` when not, `gone` if the hold ends |
/// | `gone` | `held` if the device captures; ends if the juice is not made and nothing captured, else `undecided` |
/// | `capturing` | `captured`; `undecided` if the device does not capture within `patience` |
/// | `releasing` | ends when the device no longer holds an amount; `undecided` likewise |
/// | `captured` | `refunding` if a person requests it; ends at the end of the day |
/// | `refunding` | ends when the device has refunded; `undecided` if the device refuses, and likewise |
/// | `undecided` | the state that the device's answer or a person's decision causes |
///
/// Money moves at most once for each number, by two rules. A device stores the number of a charge
/// before it begins the charge, and begins no charge whose number is not above the last one. The
/// kiosk publishes *capture* and *refund* once, and again only after the device has answered that
/// it has not executed the request: until then the kiosk publishes *state*.
package struct Charges: Sendable {
  let settings: KioskSettings.Payment?
  let maximumAge: Duration
  /// The open charges, in the order of their numbers.
  package var open: [Charge] { charges.all }
  private var charges: OpenRecords<Charge>
  private(set) var records: Journaled<PaymentDeviceID, PaymentDeviceRecord>
  private var last: Int
  /// The people whose requests have no outcome yet, by charge. Not stored in the ledger.
  var requesters: [Int: Requester] = [:]
  /// The epoch of the ledger.
  private let epoch: Int
  /// The uptimes at which the kiosk last requested all that the devices hold.
  var inventoriedAt: [PaymentDeviceID: Duration] = [:]
  /// The timers of charges, by their numbers. Not stored in the ledger.
  var timers: [Int: ChargeTimer] = [:]
  /// The uptimes at which the kiosk recorded the orders, by charge number. Not stored in the ledger.
  var acceptedAt: [Int: Duration] = [:]
  var silent: Set<PaymentDeviceID> = []
  /// The uptimes at which the devices may cause as many entries at once as in the beginning.
  private var entryLimits: [PaymentDeviceID: Duration] = [:]
  /// The numbers of charges without an order that exceeded the limits of their devices: at most
  /// `maximumForeign` for each device. Not stored in the ledger.
  private var unrecorded: [PaymentDeviceID: Set<Int>] = [:]
  /// The ticket and the reason of each device's last decline, until its next charge or the uptime
  /// `until`.
  var declined: [PaymentDeviceID: (ticket: Int?, reason: String, until: Duration)] = [:]

  /// The sender of a request about a charge.
  struct Requester: Sendable {
    let kind: PaymentStep.Kind
    let source: Source?
    let id: Identifier<KioskProtocol.Request>?
    let reply: Reply?
  }

  /// The times of a charge, as uptimes, and the device's last reports on it; see `noteAges` for a
  /// charge of an earlier process.
  struct ChargeTimer: Sendable {
    /// The time at which the charge got its present state, or at which the device last reported
    /// that it prompts the customer to pay or works on the request.
    var since: Duration
    /// The time at which the device first reported that it prompts the customer to pay.
    var promptedAt: Duration?
    /// The time of the last request, or `nil` if the next one is due.
    var requestedAt: Duration?
    /// The last request in the present state, or `nil` if there was none: then the next request may
    /// move money. The requests of an earlier process are unknown, and count as *state*.
    var lastAction: ChargeRequest.Action?
    /// The reason with which the device has apparently refused a refund, or `nil` if it has not.
    var refusal: String?
    /// The reason for which the device could not capture, release or refund, or `nil` if it has
    /// reported none.
    var failure: String?
    /// Whether the customer has presented a card.
    var isPresented = false
  }

  /// Time after which an unanswered charge or release is sent again.
  static let repetition = Duration.seconds(5)
  /// Time after which the kiosk requests the state of an unanswered capture or refund.
  static let question = Duration.seconds(15)
  /// Time after which a person may decide about a request that the device has not executed.
  static let patience = Duration.seconds(60)
  /// Maximum time from the first prompt to the payment, however often the device reports
  /// `waiting`.
  static let longestPrompt = Duration.seconds(300)
  /// Time for which displays show a decline.
  static let declineTime = Duration.seconds(60)
  /// Maximum number of open charges without an order for each device. Also the maximum number of entries
  /// that a device may cause at once; see `mayCauseEntry`.
  static let maximumForeign = 20
  /// Time after which a device may cause another entry.
  static let entryInterval = Duration.seconds(60)

  init(_ settings: KioskSettings, state: LedgerState) {
    self.settings = settings.payment
    maximumAge = settings.orders.maximumAge
    charges = OpenRecords(state.charges)
    records = Journaled(state.paymentDevices)
    last = state.lastCharge
    epoch = state.epoch
  }

  /// Copies the state that the ledger does not store.
  mutating func adopt(_ other: Charges) {
    (timers, silent, declined) = (other.timers, other.silent, other.declined)
    (entryLimits, inventoriedAt) = (other.entryLimits, other.inventoriedAt)
    unrecorded = other.unrecorded
    requesters = other.requesters
    adoptAges(of: other)
  }

  /// Copies the uptimes at which the kiosk recorded the orders.
  mutating func adoptAges(of other: Charges) { acceptedAt = other.acceptedAt }

  // MARK: Devices

  func has(_ device: PaymentDeviceID) -> Bool {
    settings?.devices.contains { $0.name == device } == true
  }

  func isAvailable(_ device: KioskSettings.Payment.Device) -> Bool {
    // guard: a payment device that cannot work gets no charges
    guard let record = records[device.name], record.status.isOnline else { return false }
    return device.isEnabled && !silent.contains(device.name)
  }

  /// Returns whether orders of a panel must be paid.
  func arePaid(at panel: String) -> Bool {
    guard let settings, settings.isEnabled else { return false }
    return !settings.freePanels.contains(panel)
  }

  /// Returns the available device of a panel with the fewest customers, or `nil` if none is
  /// available.
  func device(for panel: String) -> PaymentDeviceID? {
    let devices = settings?.devices.filter { $0.serves(panel) && isAvailable($0) } ?? []
    return devices.map(\.name).min { customers(at: $0) < customers(at: $1) }
  }

  private func customers(at device: PaymentDeviceID) -> Int {
    open.count { $0.device == device && $0.state.isUnpaid }
  }

  /// Records a status that a device published.
  mutating func record(_ status: MachineStatus, from device: PaymentDeviceID, isRetained: Bool) {
    if status.isOnline, records[device]?.status.isOnline != true || !isRetained {
      silent.remove(device)
      inventoriedAt[device] = nil
      for charge in open where charge.device == device { timers[charge.number]?.requestedAt = nil }
    }
    change(device) { $0.status = status }
  }

  private mutating func change(
    _ device: PaymentDeviceID, _ change: (inout PaymentDeviceRecord) -> Void
  ) {
    var record = records[device] ?? PaymentDeviceRecord(status: .offline)
    change(&record)
    records[device] = record
  }

  /// Adds to a transaction the changes since the last call.
  mutating func save(in transaction: inout LedgerTransaction) {
    charges.save(in: &transaction)
    records.save(in: &transaction)
  }

  /// Returns whether the device has not published yet all that it holds, since this ledger began or was
  /// restored from a backup, or since an answer exceeded the device's limits: then it may hold amounts
  /// of charges that the ledger does not have.
  func needsInventory(_ device: PaymentDeviceID) -> Bool {
    // guard: a restored kiosk asks its payment devices what they hold
    records[device]?.epoch != epoch
  }

  /// Records that a device has published all that it holds, unless an answer exceeded its limits.
  ///
  /// - Parameter epoch: The epoch of the request that the device has answered.
  mutating func inventoried(_ device: PaymentDeviceID, epoch: Int) {
    guard epoch == self.epoch, unrecorded[device, default: []].isEmpty else { return }
    change(device) { $0.epoch = epoch }
  }

  /// Records that a device has answered about a charge.
  mutating func answered(_ number: Int, by device: PaymentDeviceID) {
    markResponsive(device)
    unrecorded[device]?.remove(number)
  }

  /// Records that a device has answered.
  mutating func markResponsive(_ device: PaymentDeviceID) { silent.remove(device) }

  /// Adds a step to the sums since the device's last total.
  mutating func count(_ kind: PaymentStep.Kind, _ amount: Money?, at device: PaymentDeviceID) {
    change(device) { $0.count(kind, amount) }
  }

  /// Returns whether a device may cause an entry that belongs to no order, such as a total, and counts
  /// that entry: `maximumForeign` at once, then one in each `entryInterval`.
  mutating func mayCauseEntry(_ device: PaymentDeviceID, at uptime: Duration) -> Bool {
    let limit = max(entryLimits[device] ?? uptime, uptime) + Self.entryInterval
    // guard: the entries that a payment device causes without an order are bounded
    guard limit - uptime <= Self.entryInterval * Self.maximumForeign else { return false }
    entryLimits[device] = limit
    return true
  }

  /// Records the total at the end of a device's day, once.
  ///
  /// - Returns: The sum by which the total exceeds the ledger's, in smallest units of the currency,
  ///   `.some(nil)` if the kiosk has missed an earlier total; or `nil` if the total is recorded
  ///   already, or the device has caused too many entries.
  mutating func close(
    _ total: PaymentTotal, of device: PaymentDeviceID, at uptime: Duration
  ) -> Int?? {
    var record = records[device] ?? PaymentDeviceRecord(status: .offline)
    // guard: the end of a device's day counts once
    guard record.isNew(total), mayCauseEntry(device, at: uptime) else { return nil }
    let difference = record.close(total)
    records[device] = record
    return .some(difference)
  }

  // MARK: Charges

  subscript(number: Int) -> Charge? { charges[number] }

  func charge(ofOrder seq: Int) -> Charge? { open.first { $0.sale?.seq == seq } }

  /// Returns the number of a new charge: the time in seconds since 1970, or the next higher number
  /// that was not used yet. So a kiosk whose ledger is restored from a backup does not reuse the
  /// numbers that it has given since the backup.
  mutating func nextNumber(at now: Timestamp) -> Int {
    // guard: the number of a charge is never given again
    last = max(last + 1, Int(clamping: now.milliseconds / 1000))
    while self[last] != nil { last += 1 }
    return last
  }

  /// Returns the charge that another order of the same sender replaces: the last one that is not
  /// paid and for which no card was presented; or `nil` if there is none.
  func replaceable(from source: Source) -> Charge? {
    open.last {
      $0.sale?.source == source && $0.state.isUnpaid && timers[$0.number]?.isPresented != true
    }
  }

  /// Returns whether a device may open a charge without an order, and counts the entry. Otherwise the
  /// kiosk requests the state of this charge, and all that the device holds, until the device may.
  mutating func mayOpenForeign(
    _ number: Int, at device: PaymentDeviceID, at uptime: Duration
  ) -> Bool {
    if hasPlaceForForeign(at: device), mayCauseEntry(device, at: uptime) { return true }
    if unrecorded[device, default: []].count < Self.maximumForeign {
      unrecorded[device, default: []].insert(number)
    }
    change(device) { $0.epoch = 0 }
    return false
  }

  /// Returns the charges without an order whose states the kiosk requests together with all that the
  /// device holds.
  func unrecordedCharges(of device: PaymentDeviceID) -> [Int] {
    unrecorded[device, default: []].sorted()
  }

  /// Returns whether the kiosk accepts another charge without an order from a device.
  private func hasPlaceForForeign(at device: PaymentDeviceID) -> Bool {
    // guard: the charges that a device makes up are bounded
    open.count { $0.device == device && $0.sale == nil } < Self.maximumForeign
  }

  mutating func add(_ charge: Charge, at uptime: Duration) {
    charges[charge.number] = charge
    acceptedAt[charge.number] = uptime
    declined[charge.device] = nil
  }

  /// Replaces a charge. If its state or goal has changed, its timer begins again: earlier requests do not
  /// count, and the next request is due, except in the states `waiting`, `held` and `undecided`.
  mutating func set(_ charge: Charge, at uptime: Duration) {
    guard let before = charges[charge.number] else { return }
    charges[charge.number] = charge
    guard before.state != charge.state || before.goal != charge.goal else { return }
    var timer = ChargeTimer(since: uptime)
    // The device has just answered or has exceeded the time limit, so no request is due.
    if charge.state == .waiting || charge.state == .held || charge.state == .undecided {
      timer.requestedAt = uptime
    }
    if charge.state == .undecided {
      (timer.lastAction, timer.failure) = (.state, timers[charge.number]?.failure)
    }
    timers[charge.number] = timer
  }

  mutating func remove(_ charge: Charge) {
    charges[charge.number] = nil
    timers[charge.number] = nil
    acceptedAt[charge.number] = nil
  }

  /// Records that the device prompts the customer to pay.
  mutating func prompted(_ charge: Charge, isPresented: Bool, at uptime: Duration) {
    var timer = timers[charge.number] ?? ChargeTimer(since: uptime)
    timer.promptedAt = timer.promptedAt ?? uptime
    timer.since = uptime
    timer.requestedAt = uptime
    timer.isPresented = timer.isPresented || isPresented
    timers[charge.number] = timer
  }

  /// Records the answer that a requested capture or refund has not happened. The request is then
  /// due again, but only if the last request was *state*: otherwise the answer may be older than
  /// the request.
  mutating func notDone(_ charge: Charge) {
    guard timers[charge.number]?.lastAction == .state else { return }
    timers[charge.number]?.lastAction = nil
    timers[charge.number]?.requestedAt = nil
  }

  /// Records the answer that the device has not executed a request: it works on the request, or
  /// could not execute it for a reason. Before the first such reason, each answer restarts the
  /// time limit.
  mutating func unfinished(_ charge: Charge, failure: String?, at uptime: Duration) {
    guard var timer = timers[charge.number] else { return }
    timer.failure = failure ?? timer.failure
    if timer.failure == nil { timer.since = uptime }
    timers[charge.number] = timer
  }

  /// Returns the reason for which the device could not capture, release or refund, or `nil` if it
  /// has reported none.
  func failure(of charge: Charge) -> String? { timers[charge.number]?.failure }

  /// Records that the device has apparently refused a refund. The answer may be older than the
  /// request, so the next request is *state*.
  mutating func refused(_ charge: Charge, _ reason: String?) {
    timers[charge.number]?.refusal = reason ?? ""
    timers[charge.number]?.requestedAt = nil
  }

  /// Returns the reason with which the device has apparently refused a refund, or `nil` if it has
  /// not.
  func refusal(of charge: Charge) -> String? { timers[charge.number]?.refusal }

  /// Restarts the timer of a charge in its present state: its request is due, and its time limit
  /// begins again.
  mutating func beginAgain(_ charge: Charge, at uptime: Duration) {
    timers[charge.number] = ChargeTimer(since: uptime)
  }

  /// Records that an earlier request may have had its effect, so that the next request is *state*.
  mutating func mayHaveBegun(_ charge: Charge) { timers[charge.number]?.lastAction = .state }

  /// Returns whether the last request about a charge was this action.
  func wasAsked(_ charge: Charge, _ action: ChargeRequest.Action) -> Bool {
    timers[charge.number]?.lastAction == action
  }

  mutating func noteDecline(_ charge: Charge, _ reason: String, at uptime: Duration) {
    declined[charge.device] = (charge.sale?.ticket.number, reason, uptime + Self.declineTime)
  }

  /// Changes queued charges to `sent` if their devices ask no other customer.
  mutating func dispatch(at now: Moment) {
    for device in settings?.devices ?? [] where isAvailable(device) {
      let own = open.filter { $0.device == device.name }
      // guard: a device asks one customer at a time
      let isBusy = own.contains {
        $0.state == .sent || $0.state == .waiting || $0.state == .releasing && $0.held == nil
      }
      guard !isBusy,
        let next = own.first(where: { $0.state == .queued && !isTooOld($0, at: now) })
      else { continue }
      set(next.with(.sent), at: now.uptime)
    }
  }
}
