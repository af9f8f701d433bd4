package import JuiceDomain

/// A condition of a kiosk that costs sales, needs a person, or is worth knowing.
///
/// ```swift
/// for problem in reports.problems(at: .now) {
///   print(problem.severity, text.sentence(about: problem.kind))  // `text` is a `ProblemText`
/// }
/// ```
package struct Problem: Hashable, Sendable {
  /// The condition, which stays the same while its amounts, reasons and severity change. The order
  /// is that of problems with the same severity.
  package enum Kind: Hashable, Comparable, Sendable {
    case offline
    /// The kiosk is open and can sell no juice.
    case noSales
    /// The kiosk cannot sell some juices.
    case unsold
    /// The ledger's disk has little space.
    case disk
    /// A machine is not working, waits for a person or is out of a fruit, or one of its programs needs a
    /// person.
    case machine(MachineID)
    /// A person has to decide about a job.
    case job(Int, ticket: Int)
    /// A payment device is not working, or has not reported which charges it holds.
    case payment(PaymentDeviceID)
    /// A person has to decide about a charge. `ticket` is 0 if the kiosk has no order for it.
    case charge(Int, ticket: Int)
    /// The total of a payment device's last compared end of day differs from the ledger.
    case difference(PaymentDeviceID)
    /// The value of a sensor was outside the limits for too long, or is unknown.
    case sensor(SensorID)
    /// Some of a fruit has expired and must be taken out of the kiosk.
    case expired(Fruit.ID)
    /// The kiosk cannot use the menu of its chain.
    case menu
    /// The clocks of the kiosk and of the reader differ by more than a minute.
    case clock
    /// The stock of a fruit is too small for one glass of a juice, which cannot be sold.
    case out(Fruit.ID)
    case closed
    case low(Fruit.ID)
    /// Some of a fruit expires within `expiryNotice`.
    case expires(Fruit.ID)
  }

  /// A group of kinds, as people choose messages and search for kiosks.
  package enum Group: String, CaseIterable, Sendable {
    case offline, sales, stock, dates, machines, payments, sensors
  }

  /// The cost of a problem, the largest first.
  package enum Severity: Int, Comparable, Sendable {
    /// The kiosk sells nothing, or whether it sells is unknown.
    case sellsNothing
    /// The kiosk cannot sell some juices.
    case sellsLess
    /// A person must decide or act at the kiosk: money or fruit waits, which cannot be undone later.
    case decision
    /// The problem will cost sales if nothing is done.
    case soon
    /// Worth knowing.
    case note

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
  }

  package let kind: Kind
  package let severity: Severity
  /// Whether the condition often ends without a person.
  package let mayRecover: Bool
  /// Whether people are notified of the problem.
  package let isAlert: Bool

  /// Whether more than fruit or a connection is needed to end the problem. The causes of juices that
  /// are not for sale are problems of their own.
  package var needsAttention: Bool {
    switch kind {
    case .offline, .out, .unsold: false
    default: severity < .note
    }
  }

  /// Whether a fruit is short, or a juice that needs a person before it can be sold.
  package var isLoss: Bool {
    switch kind {
    case .out, .noSales, .unsold: true
    default: false
    }
  }

  package var isLow: Bool { if case .low = kind { true } else { false } }

  /// Time before the expiry of a batch of fruit at which people are notified of the expiry.
  package static let expiryNotice = Duration.seconds(12 * 3600)

  /// Age of an order from which the wait of its machine is a problem. Until then the customer may put
  /// the cup into the machine.
  package static let patience = Duration.seconds(120)
}

extension Problem.Kind {
  package var group: Problem.Group {
    switch self {
    case .offline, .disk, .menu, .clock, .closed: .offline
    case .noSales, .unsold: .sales
    case .out, .low: .stock
    case .expires, .expired: .dates
    case .machine, .job: .machines
    case .payment, .charge, .difference: .payments
    case .sensor: .sensors
    }
  }
}

extension KioskReports {
  /// Returns all problems of the kiosk, the most severe first; none without a status. While the kiosk
  /// is offline, `offline` is the only problem, because the rest of the kiosk's state is unknown.
  package func problems(at now: Timestamp) -> [Problem] {
    var problems: [Problem] = []
    func add(
      _ kind: Problem.Kind, _ severity: Problem.Severity, mayRecover: Bool = false,
      isAlert: Bool = true
    ) {
      problems.append(
        Problem(kind: kind, severity: severity, mayRecover: mayRecover, isAlert: isAlert))
    }
    guard let status else { return [] }
    guard status == .online else {
      add(.offline, .sellsNothing, mayRecover: true)
      return problems
    }

    let lost = lostJuices
    let others = lost.filter { if case .fruit = $0.obstacle { false } else { true } }
    let isClosed = service == .closed
    // What is not for sale costs nothing until the kiosk opens.
    let loss = isClosed ? Problem.Severity.soon : .sellsLess
    if isClosed { add(.closed, .note, isAlert: false) }
    if share(ofLost: lost.count) == 1 {
      add(.noSales, .sellsNothing, mayRecover: mayRecover(lost.map(\.obstacle)))
    } else if !lost.isEmpty {
      // The problem `out` of a fruit names the juices that need the fruit.
      add(
        .unsold, loss, mayRecover: mayRecover(lost.map(\.obstacle)),
        isAlert: !isClosed && !others.isEmpty)
    }
    let short = shortFruits
    for fruit in short { add(.out(fruit), loss) }
    for fruit in fruits(.low) where !short.contains(fruit) {
      add(.low(fruit), .note, isAlert: false)
    }
    for fruit in expired { add(.expired(fruit.fruit), .decision) }
    for (fruit, time) in stock?.expires ?? [:]
    where time.since(now) - clockLead <= Problem.expiryNotice && expired[fruit] == nil {
      add(.expires(fruit), .note)
    }

    for (id, machine) in machines {
      let isStuck = machine.isStuck(at: now, clockLead)
      if machine.isFaulty || isStuck {
        // Without a menu it is unknown whether the kiosk needs the machine.
        let isLoss = menu == nil || others.contains { machine.makes($0.juice.id) }
        let isUndecided = machine.programs.contains { $0.state?.isUndecided == true }
        add(
          .machine(id), isLoss ? loss : isUndecided || isStuck ? .decision : .soon,
          mayRecover: machine.mayRecover)
      }
      for job in machine.jobs where job.state.isUndecided {
        add(.job(job.job, ticket: job.ticket), .decision)
      }
    }
    for (id, device) in payments {
      if device.state == .off || device.needsInventory {
        add(.payment(id), isPaymentDown ? loss : .soon, mayRecover: device.mayRecover)
      }
      for charge in device.charges {
        add(.charge(charge.charge, ticket: charge.ticket ?? 0), .decision)
      }
    }
    for (device, _, _) in dayDifferences { add(.difference(device), .decision) }
    for (id, sensor) in sensors where sensor.needsAttention {
      add(
        .sensor(id), sensor.state == .blocked ? .decision : .soon,
        mayRecover: sensor.state == .unknown)
    }

    if menuProblem != nil { add(.menu, .decision) }
    if clockLead > .seconds(60) || clockLead < .seconds(-60) {
      add(.clock, .soon, mayRecover: true)
    }
    switch disk?.freeSpace {
    case .full: add(.disk, .soon)
    // A disk that becomes full begins an alert.
    case .low: add(.disk, .note, isAlert: false)
    case .enough, nil: break
    }
    return problems.sorted { ($0.severity, $0.kind) < ($1.severity, $1.kind) }
  }

  /// Expired fruit that is still in the kiosk; empty if the stock is unknown.
  package var expired: FruitAmounts { stock?.expired ?? [:] }

  /// Returns whether all causes of these obstacles often end without a person.
  private func mayRecover(_ obstacles: [SaleObstacle]) -> Bool {
    let needsPerson = obstacles.contains {
      switch $0 {
      case .blocked, .cleaningDue, .machineOut: true
      default: false
      }
    }
    let causes =
      machines.values.filter { !$0.takesOrders }.map(\.mayRecover)
      + payments.values.filter { $0.state == .off }.map(\.mayRecover)
    return !needsPerson && !causes.isEmpty && causes.allSatisfy(\.self)
  }
}

extension MachineReport {
  /// Returns whether a program, or each order that waits for a person, has waited too long.
  fileprivate func isStuck(at now: Timestamp, _ clockLead: Duration) -> Bool {
    state == .waiting
      && jobs.allSatisfy { $0.waiting == nil || now.since($0.at) + clockLead > Problem.patience }
  }

  /// Whether the machine may work again without a person, unlike a machine that reports a fault.
  fileprivate var mayRecover: Bool {
    switch state {
    case .fault, .failing, .idle, .busy, .waiting, .cleaning, .cleaningDue: false
    case .offline, .silent, .disabled, .unknown: true
    }
  }
}

extension PaymentReport {
  /// Whether the device may work again without a person: one that reports no reason is unreachable.
  fileprivate var mayRecover: Bool { reason == nil }
}
