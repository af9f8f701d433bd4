package import JuiceDomain

/// An entry of the ledger. A recorded entry never changes. The kiosk publishes each one on `events`.
package struct LedgerEntry: Hashable, Sendable {
  /// The sequence number: from 1, without gaps.
  package let seq: Int
  /// The epoch of the ledger: each restore from a backup begins a new one, so that a reused
  /// sequence number can be distinguished from a repeated entry. Below 2^53, which every JSON
  /// parser can represent; 0 if it was not reported.
  package let epoch: Int
  package let at: Timestamp
  /// The sender of the command, or of the order that the entry assigns to a machine or ends; otherwise `nil`.
  package let source: Source?
  package let id: Request.ID?
  package let outcome: Outcome
  /// The price of the ordered glasses, by the menu at the time of the order; at the end of an order,
  /// the price of the glasses that were made; for a step of a charge, the amount of the step; for
  /// removed fruit, the cost; or `nil` if there is none.
  package let amount: Money?
  /// The parts of the changes that belong to batches.
  package var batches: [BatchChange] = []

  package init(
    seq: Int, epoch: Int, at: Timestamp, source: Source?, id: Request.ID?, outcome: Outcome,
    amount: Money? = nil
  ) {
    self.seq = seq
    self.epoch = epoch
    self.at = at
    self.source = source
    self.id = id
    self.outcome = outcome
    self.amount = amount
  }

  package enum Outcome: Hashable, Sendable {
    /// The kiosk stocks these fruits from this entry on, with this initial stock.
    case opened(FruitAmounts)
    case ready(Order, used: FruitAmounts, ticket: Ticket)
    case outOfStock(Order, missing: FruitAmounts)
    case restocked(changes: FruitAmounts)
    case service(ServiceState)
    // The indirect cases are larger than the others, and each entry is copied often.
    /// A machine will make the order: a job with the number of this entry.
    indirect case accepted(
      Order, used: FruitAmounts, ticket: Ticket, machine: MachineID, place: Int)
    indirect case made(JobEnd)
    /// The customer must pay for the order first, with this charge.
    indirect case awaitingPayment(
      Order, used: FruitAmounts, ticket: Ticket, charge: Int, device: PaymentDeviceID)
    /// A step of a charge.
    indirect case payment(PaymentStep)
    /// The end of a payment device's day.
    ///
    /// - Parameter difference: The amount by which `PaymentTotal.net` exceeds the captures minus the
    ///   refunds that the ledger has recorded since the previous total, in smallest units; or `nil` if
    ///   the kiosk has not received the previous total.
    indirect case total(PaymentTotal, device: PaymentDeviceID, difference: Int?)
    /// A step of a machine's program.
    indirect case program(ProgramStep)
    /// A change of a sensor's state, a decision about a sensor, or a sensor's readings of an hour.
    indirect case sensor(SensorStep)
    /// The fruit of batches has expired: the kiosk does not sell it, and a person must take it out.
    case expired(changes: FruitAmounts)
    /// A person has taken fruit out.
    indirect case removed(Removal)
    /// The machine could not make all glasses of the order.
    ///
    /// - Parameter changes: The fruit that was returned to the stock.
    indirect case failed(JobEnd, reason: String, changes: FruitAmounts)
    /// The order ended before a machine began it, for example because it was not paid; or a person
    /// decided that the customer does not receive the juice.
    indirect case returned(JobEnd, reason: String, changes: FruitAmounts)
    /// A person decided about a job; `used` is the fruit that the kiosk takes for `again`.
    case decided(JobDecision.Choice, job: Int, used: FruitAmounts)
    /// The kiosk has rejected the command.
    ///
    /// - Parameter order: The order, or `nil` for other commands.
    case rejected(RejectionReason, order: Order?)

    /// The order that the entry contains, or `nil` if there is none.
    package var order: Order? {
      switch self {
      case .ready(let order, _, _), .outOfStock(let order, _): order
      case .accepted(let order, _, _, _, _), .awaitingPayment(let order, _, _, _, _): order
      case .payment(let step): step.order
      case .made(let end), .failed(let end, _, _), .returned(let end, _, _): end.order
      case .rejected(_, let order): order
      case .opened, .restocked, .service, .decided, .total, .program, .sensor, .expired, .removed:
        nil
      }
    }

    /// The end of a job, or `nil` for other entries.
    package var end: JobEnd? {
      switch self {
      case .made(let end), .failed(let end, _, _), .returned(let end, _, _): end
      default: nil
      }
    }
  }

  package var ticket: Ticket? {
    switch outcome {
    case .ready(_, _, let ticket), .accepted(_, _, let ticket, _, _),
      .awaitingPayment(_, _, let ticket, _, _):
      ticket
    case .payment(let step): step.ticket
    default: outcome.end?.ticket
    }
  }

  /// The changes of the stock.
  package var changes: FruitAmounts { outcome.changes }

  /// The `seq` of the entry that this restock undoes, or `nil` if it undoes none. The id of such a
  /// restock is `undo-<epoch>-<seq>`.
  package var undone: Int? {
    guard case .restocked = outcome else { return nil }
    return id?.undone
  }

  /// The `seq` of the entry that this restock corrects, 0 for an unknown one, or `nil` if it corrects
  /// none. The id of such a restock is `correct-<seq>-<id>`.
  package var corrected: Int? {
    guard case .restocked = outcome else { return nil }
    return id?.corrected
  }
}

extension Request.ID {
  /// The `seq` in the id of a restock that undoes an entry, or `nil` for another id.
  package var undone: Int? {
    let parts = text.split(separator: "-")
    return parts.count == 3 && parts[0] == "undo" ? Int(parts[2]) : nil
  }

  /// The `seq` in the id of a restock that corrects an entry, or `nil` for another id.
  package var corrected: Int? {
    let parts = text.split(separator: "-")
    return parts.count == 3 && parts[0] == "correct" ? Int(parts[1]) : nil
  }
}

extension LedgerEntry.Outcome {
  /// The fruit that a person has taken out, or `nil` if there is none. Fruit that a sensor has
  /// blocked and a person discards counts as spoiled.
  package var removal: Removal? {
    switch self {
    case .removed(let removal): removal
    case .sensor(let step) where !step.changes.isEmpty:
      Removal(stock: step.changes.times(-1), reason: .spoiled)
    default: nil
    }
  }

  /// The changes of the stock.
  package var changes: FruitAmounts {
    switch self {
    case .opened(let amounts), .restocked(let amounts), .expired(let amounts): amounts
    case .removed(let removal): removal.stock.times(-1)
    case .ready(_, let used, _), .accepted(_, let used, _, _, _), .decided(_, _, let used),
      .awaitingPayment(_, let used, _, _, _):
      used.times(-1)
    case .failed(_, _, let changes), .returned(_, _, let changes): changes
    case .program(let step): step.changes
    case .sensor(let step): step.changes
    case .outOfStock, .service, .rejected, .made, .payment, .total: [:]
    }
  }
}

/// The number for the customer, from 1 each day.
package struct Ticket: Hashable, Sendable {
  /// Days since 1970-01-01 in the kiosk's time zone.
  package let day: Int
  package let number: Int

  package init(day: Int, number: Int) {
    self.day = day
    self.number = number
  }
}

extension LedgerEntry {
  /// The outcome of an entry, as the payload names it.
  package enum Status: String, CaseIterable, MemberValue {
    case opened, ready, restocked, open, closed, rejected
    case accepted, made, failed, returned
    case poured, again
    case giveBack = "give_back"
    case awaitingPayment = "awaiting_payment"
    case held, captured, released, refunded
    case capture, release, refund, kept
    case paidBack = "paid_back"
    case writtenOff = "written_off"
    case total
    case programDue = "program_due"
    case programRequested = "program_requested"
    case programDone = "program_done"
    case programFailed = "program_failed"
    case sensorAlarm = "sensor_alarm"
    case sensorBlocked = "sensor_blocked"
    case sensorSilent = "sensor_silent"
    case sensorGap = "sensor_gap"
    case sensorOk = "sensor_ok"
    case sensorDiscard = "sensor_discard"
    case sensorRelease = "sensor_release"
    case sensorHour = "sensor_hour"
    case outOfStock = "out_of_stock"
    case expired, removed
  }

  package var status: Status {
    switch outcome {
    case .opened: .opened
    case .ready: .ready
    case .outOfStock: .outOfStock
    case .restocked: .restocked
    case .expired: .expired
    case .removed: .removed
    case .service(.open): .open
    case .service(.closed): .closed
    case .accepted: .accepted
    case .made: .made
    case .failed: .failed
    case .returned: .returned
    case .decided(.poured, _, _): .poured
    case .decided(.again, _, _): .again
    case .decided(.giveBack, _, _): .giveBack
    case .rejected: .rejected
    case .awaitingPayment: .awaitingPayment
    case .payment(let step): step.kind.status
    case .total: .total
    case .program(let step):
      switch step.kind {
      case .due: .programDue
      case .requested: .programRequested
      case .done: .programDone
      case .failed: .programFailed
      }
    case .sensor(let step): step.kind.status
    }
  }
}
