package import JuiceDomain
package import KioskProtocol

/// A condition that operators are notified of when it begins and when it is resolved.
package enum Alert: Hashable, Sendable {
  /// The dashboard has no connection to its broker, and therefore no current state of any kiosk.
  case noBroker
  case offline(KioskID)
  /// The kiosk is open and can sell no juice.
  case noSales(KioskID)
  /// The kiosk cannot sell some juices, for a reason other than the stock of a fruit.
  case unsold(KioskID)
  /// A machine is not working or is out of a fruit, or one of its programs needs a person.
  case machine(KioskID, MachineID)
  /// A person has to decide about a job.
  case job(KioskID, Int, ticket: Int)
  /// A payment device is not working.
  case payment(KioskID, PaymentDeviceID)
  /// A person has to decide about a charge.
  case charge(KioskID, Int, ticket: Int?)
  /// The total of a payment device's last end of day differs from the ledger.
  case difference(KioskID, PaymentDeviceID)
  /// The value of a sensor was outside the limits for too long, or the sensor is silent.
  case sensor(KioskID, SensorID)
  /// Some of a fruit expires within `KioskState.expiryNotice`.
  case expires(KioskID, Fruit.ID)
  /// Some of a fruit has expired and must be taken out of the kiosk.
  case expired(KioskID, Fruit.ID)
  /// The stock of a fruit is too small for one glass of a juice, which cannot be sold.
  case out(KioskID, Fruit.ID)

  /// The kiosk that the alert is about, or `nil` for `noBroker`.
  package var kiosk: KioskID? {
    switch self {
    case .noBroker: nil
    case .offline(let kiosk), .noSales(let kiosk), .unsold(let kiosk), .machine(let kiosk, _),
      .job(let kiosk, _, _), .out(let kiosk, _), .payment(let kiosk, _), .charge(let kiosk, _, _),
      .difference(let kiosk, _),
      .sensor(let kiosk, _), .expires(let kiosk, _), .expired(let kiosk, _):
      kiosk
    }
  }
}

extension Alert: Comparable {
  /// Orders alerts by urgency, the most urgent first, then by kiosk.
  package static func < (left: Self, right: Self) -> Bool { left.order < right.order }

  private var order: (urgency: Int, kiosk: String, number: Int, name: String) {
    let kiosk = kiosk?.text ?? ""
    return switch self {
    case .noBroker: (0, kiosk, 0, "")
    case .offline: (1, kiosk, 0, "")
    case .noSales: (2, kiosk, 0, "")
    case .unsold: (3, kiosk, 0, "")
    case .machine(_, let machine): (4, kiosk, 0, machine.text)
    case .job(_, let job, _): (5, kiosk, job, "")
    case .payment(_, let device): (6, kiosk, 0, device.text)
    case .charge(_, let charge, _): (7, kiosk, charge, "")
    case .difference(_, let device): (8, kiosk, 0, device.text)
    case .sensor(_, let sensor): (9, kiosk, 0, sensor.text)
    case .expired(_, let fruit): (10, kiosk, 0, fruit.text)
    case .out(_, let fruit): (11, kiosk, 0, fruit.text)
    case .expires(_, let fruit): (12, kiosk, 0, fruit.text)
    }
  }
}

extension KioskState {
  /// Returns the active alerts of the kiosk; none without a status. While the kiosk is offline,
  /// `offline` is the only alert, because the rest of the kiosk's state is unknown.
  func activeAlerts(at now: Timestamp) -> [Alert] {
    switch status {
    case nil: return []
    case .offline: return [.offline(id)]
    case .online:
      let expired = expired.map(\.fruit)
      let expiring = expiring(at: now).map(\.fruit).filter { !expired.contains($0) }
      return saleAlerts
        + machines.filter {
          $0.value.state.isProblem || !$0.value.out.isEmpty || $0.value.neededProgram != nil
        }
        .map { .machine(id, $0.key) }
        + undecidedJobs.map { .job(id, $0.job.job, ticket: $0.job.ticket) }
        + payments.filter { $0.value.state == .off }.map { .payment(id, $0.key) }
        + undecidedCharges.map { .charge(id, $0.charge.charge, ticket: $0.charge.ticket) }
        + dayDifferences.map { .difference(id, $0.device) } + shortFruits.map { .out(id, $0) }
        + sensors.filter(\.value.needsAttention).map { .sensor(id, $0.key) }
        + expired.map { .expired(id, $0) } + expiring.map { .expires(id, $0) }
    }
  }

  /// The alerts about juices that the kiosk cannot sell. The alert `out` of a fruit names the juices
  /// that need the fruit.
  private var saleAlerts: [Alert] {
    if sellsNothing { return [.noSales(id)] }
    let isUnsold =
      service != .closed
      && lostJuices.contains { if case .fruit = $0.obstacle { false } else { true } }
    return isUnsold ? [.unsold(id)] : []
  }

  /// Returns whether the alert may have ended if it is not active.
  func isKnown(_ alert: Alert) -> Bool {
    switch alert {
    case .offline, .noBroker: status != nil
    // A kiosk that is closed sells nothing anyway, and one that sells nothing does not sell some.
    case .noSales: isOnline && service != .closed
    case .unsold: isOnline && service != .closed && !sellsNothing
    default: isOnline
    }
  }
}
