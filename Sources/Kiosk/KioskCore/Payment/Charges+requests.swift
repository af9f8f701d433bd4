import JuiceDomain
package import KioskProtocol

// The timers of charges, the requests that are due, and the published reports.
extension Charges {
  // MARK: Time

  /// Returns the age of an order; see `Jobs.age`.
  private func age(of charge: Charge, at now: Moment) -> Duration {
    if let acceptedAt = acceptedAt[charge.number] { return now.uptime - acceptedAt }
    let age = now.timestamp.since(charge.at)
    return age < .zero ? .unknownAge : age
  }

  /// Notes that the ages of the orders up to an entry are unknown.
  mutating func forgetAges(through seq: Int, at now: Moment) {
    for charge in open where charge.sale.map({ $0.seq <= seq }) ?? false {
      acceptedAt[charge.number] = now.uptime - .unknownAge
    }
  }

  func isTooOld(_ charge: Charge, at now: Moment) -> Bool {
    age(of: charge, at: now) > maximumAge
  }

  /// Converts the ages of the orders of an earlier process to the monotonic clock, and creates the
  /// missing timers of charges.
  private mutating func noteAges(at now: Moment) {
    for charge in open {
      if acceptedAt[charge.number] == nil {
        acceptedAt[charge.number] = now.uptime - age(of: charge, at: now)
      }
      guard timers[charge.number] == nil else { continue }
      // The customer may have left before this process started, so the time before that counts.
      let isUnpaid = charge.state == .sent || charge.state == .waiting
      timers[charge.number] = ChargeTimer(
        since: isUnpaid ? now.uptime - age(of: charge, at: now) : now.uptime, lastAction: .state)
    }
  }

  /// Returns the uptime at which the present state ends without an answer, or `nil` if the state
  /// has no limit.
  private func deadline(of charge: Charge, at now: Moment) -> Duration? {
    let since = timers[charge.number]?.since ?? now.uptime
    switch charge.state {
    case .queued: return now.uptime + maximumAge - age(of: charge, at: now) + .milliseconds(1)
    case .sent: return since + (charge.sale?.payLimit ?? .zero)
    case .waiting:
      let first = timers[charge.number]?.promptedAt ?? since
      return min(since + (charge.sale?.payLimit ?? .zero), first + Self.longestPrompt)
    case .capturing, .releasing, .refunding: return since + Self.patience
    case .held, .gone, .captured, .undecided: return nil
    }
  }

  /// Returns whether the customer's time to pay is over.
  mutating func isTooLate(_ charge: Charge, at now: Moment) -> Bool {
    noteAges(at: now)
    return deadline(of: charge, at: now).map { $0 <= now.uptime } ?? false
  }

  /// Charges whose time limit has passed.
  struct Overdue {
    /// Charges that were queued for too long, or whose customers have not paid in time.
    var unpaid: [Charge] = []
    /// Charges whose device has not answered a request in time, or could not execute it.
    var unfinished: [Charge] = []
    /// Captured charges of earlier days.
    var settled: [Charge] = []
  }

  mutating func overdue(at now: Moment) -> Overdue {
    noteAges(at: now)
    declined = declined.filter { $0.value.until > now.uptime }
    var overdue = Overdue()
    for charge in open {
      if charge.isSettled(on: now.day) { overdue.settled.append(charge) }
      guard let deadline = deadline(of: charge, at: now), deadline <= now.uptime else { continue }
      if charge.state.isUnpaid {
        if charge.state == .sent { silent.insert(charge.device) }
        overdue.unpaid.append(charge)
      } else {
        if failure(of: charge) == nil { silent.insert(charge.device) }
        overdue.unfinished.append(charge)
      }
    }
    return overdue
  }

  /// Returns the time until the next timer expires or the next request is due; or `nil` if only a
  /// message can change something.
  func wait(at now: Moment) -> Duration? {
    let waits =
      open.compactMap { wait(for: $0, at: now) } + declined.values.map { $0.until - now.uptime }
      + (settings?.devices ?? []).compactMap { nextInventory(of: $0.name).map { $0 - now.uptime } }
    return waits.min().map { max($0, .zero) }
  }

  private func wait(for charge: Charge, at now: Moment) -> Duration? {
    guard charge.state != .captured, charge.state != .gone else { return nil }
    if charge.state != .queued, timers[charge.number] == nil { return .zero }
    let times = [deadline(of: charge, at: now), nextRequest(about: charge)].compactMap(\.self)
    return times.min().map { $0 - now.uptime }
  }

  // MARK: Requests

  /// A request to a device.
  struct Request {
    let charge: Charge
    /// The action, or `nil` for the charge itself.
    let action: ChargeRequest.Action?
    /// The rest of the time in which the customer can pay.
    let rest: Duration
  }

  /// Returns the uptime at which the next request is due, or `nil` if none is scheduled.
  private func nextRequest(about charge: Charge) -> Duration? {
    // An offline device gets its request when it is online again.
    guard has(charge.device), records[charge.device]?.status != .offline,
      let timer = timers[charge.number]
    else { return nil }
    guard let requestedAt = timer.requestedAt else {
      return charge.state == .queued || charge.state == .captured || charge.state == .gone
        ? nil : .zero
    }
    switch charge.state {
    case .sent, .releasing: return requestedAt + Self.repetition
    case .capturing, .refunding: return requestedAt + Self.question
    case .undecided: return isRepeated(charge) ? requestedAt + Self.patience : nil
    case .queued, .waiting, .held, .gone, .captured: return nil
    }
  }

  /// The reason of a charge whose device does not answer.
  static let noAnswer = "no answer"

  /// Returns whether the kiosk continues to send the request of an undecided charge: the device has
  /// not answered, or could not execute it.
  func isRepeated(_ charge: Charge) -> Bool {
    charge.reason == failure(of: charge) ?? Self.noAnswer
  }

  /// Returns the requests that are due, and records them as sent.
  mutating func requests(at now: Moment) -> [Request] {
    noteAges(at: now)
    var requests: [Request] = []
    for charge in open {
      guard let due = nextRequest(about: charge), due <= now.uptime,
        var timer = timers[charge.number]
      else { continue }
      var action: ChargeRequest.Action?
      switch charge.state {
      case .queued, .gone, .captured: continue
      // guard: a customer who had the time to pay is not asked again
      case .sent where deadline(of: charge, at: now).map { $0 <= now.uptime } ?? true: continue
      case .sent: break
      // guard: a capture or a refund is repeated only if it has not happened
      case .capturing: action = timer.lastAction == nil ? .capture : .state
      case .refunding: action = timer.lastAction == nil ? .refund : .state
      case .releasing: action = .release
      case .undecided where charge.goal == .releasing && isRepeated(charge): action = .release
      case .undecided where timer.lastAction == nil: action = .capture
      case .waiting, .held, .undecided: action = .state
      }
      (timer.requestedAt, timer.lastAction) = (now.uptime, action ?? .state)
      timers[charge.number] = timer
      let end = timer.since + (charge.sale?.payLimit ?? .zero)
      requests.append(Request(charge: charge, action: action, rest: end - now.uptime))
    }
    return requests
  }

  /// Returns the uptime at which the request for all that a device holds is due, or `nil` if the device
  /// has answered it or is offline.
  private func nextInventory(of device: PaymentDeviceID) -> Duration? {
    guard needsInventory(device), let status = records[device]?.status, status != .offline else {
      return nil
    }
    return inventoriedAt[device].map { $0 + Self.question } ?? .zero
  }

  /// Returns the devices from which the kiosk must request now all that they hold, and records the
  /// requests as sent.
  mutating func inventories(at now: Moment) -> [PaymentDeviceID] {
    let due = (settings?.devices ?? []).map(\.name).filter { device in
      nextInventory(of: device).map { $0 <= now.uptime } ?? false
    }
    for device in due { inventoriedAt[device] = now.uptime }
    return due
  }

  /// Makes all requests due again, because those in flight may be lost.
  mutating func connectionLost() {
    inventoriedAt = [:]
    for number in timers.keys { timers[number]?.requestedAt = nil }
  }

  // MARK: Reports

  package var reports: [(device: PaymentDeviceID, report: PaymentReport)] {
    (settings?.devices ?? []).map { ($0.name, report(of: $0)) }
  }

  private func report(of device: KioskSettings.Payment.Device) -> PaymentReport {
    let own = open.filter { $0.device == device.name }
    var report = PaymentReport(state: .idle)
    if !isAvailable(device) {
      report.state = .off
      if case .fault(let reason) = records[device.name]?.status, !reason.isEmpty {
        report.reason = reason
      }
    } else if own.contains(where: { $0.state == .waiting }) {
      report.state = .waiting
    } else if own.contains(where: \.isMoving) {
      report.state = .busy
    }
    if let asked = own.first(where: { $0.state == .waiting || $0.state == .sent }) {
      (report.ticket, report.amount) = (asked.sale?.ticket.number, asked.amount)
      report.paySeconds = (asked.sale?.payLimit.components.seconds).map { Int(clamping: $0) }
    } else if let declined = declined[device.name] {
      (report.ticket, report.declined) = (declined.ticket, declined.reason)
    }
    report.queue = own.count { $0.state == .queued }
    report.needsInventory = needsInventory(device.name)
    report.charges = own.lazy.filter { $0.state == .undecided }.prefix(PaymentReport.limit).map {
      PaymentReport.Charge(
        charge: $0.number, job: $0.sale?.seq, ticket: $0.sale?.ticket.number,
        amount: $0.captured ?? $0.wanted ?? $0.held ?? $0.amount, reason: $0.reason ?? "",
        request: $0.request, decisions: $0.possibleDecisions, at: $0.at)
    }
    if let record = records[device.name] {
      report.difference = record.difference
      report.captured = record.currency.map { Money(units: record.captured, $0) }
      report.refunded = record.currency.map { Money(units: record.refunded, $0) }
    }
    return report
  }
}

extension Charge {
  /// Whether the device must still answer a request.
  fileprivate var isMoving: Bool {
    switch state {
    case .sent, .capturing, .releasing, .refunding: true
    case .queued, .waiting, .held, .gone, .captured, .undecided: false
    }
  }

  /// The request that leads to the goal, or `nil` if none does.
  fileprivate var request: ChargeRequest.Action? {
    switch goal {
    case .capturing: .capture
    case .releasing: .release
    case .refunding: .refund
    case .queued, .sent, .waiting, .held, .gone, .captured, .undecided: nil
    }
  }

  fileprivate var possibleDecisions: [ChargeDecision.Choice] {
    ChargeDecision.Choice.allCases.filter { allows($0) != nil }
  }
}
