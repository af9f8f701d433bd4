/// A step of a charge, as an entry of the ledger. `LedgerEntry.amount` is the amount of the step.
package struct PaymentStep: Hashable, Sendable {
  package let kind: Kind
  package let charge: Int
  package let device: PaymentDeviceID
  /// The sequence number of the order's entry, or `nil` if the kiosk has no order for the charge.
  package let job: Int?
  package let order: Order?
  package let ticket: Ticket?
  /// The machine whose job begins with this step, and the job's place among the machine's jobs, from
  /// 1; or `nil` if no job begins with this step.
  package let machine: MachineID?
  package let place: Int?
  package let receipt: Receipt
  /// The device's reason, or the kiosk's reason for the step.
  package let reason: String?

  package enum Kind: String, CaseIterable, MemberValue {
    // States that the charge has reached.
    case held, captured, released, refunded
    // Requests by a person.
    case capture, release, refund
    /// A person accepts the captured amount.
    case kept
    /// A person has given the captured amount back in cash.
    case paidBack = "paid_back"
    /// A person has decided that the juice is not paid.
    case writtenOff = "written_off"

    /// Whether the step is a request, and not a result.
    package var isRequest: Bool { self == .refund || self == .capture || self == .release }

    var status: LedgerEntry.Status {
      switch self {
      case .held: .held
      case .captured: .captured
      case .released: .released
      case .refunded: .refunded
      case .capture: .capture
      case .release: .release
      case .refund: .refund
      case .kept: .kept
      case .paidBack: .paidBack
      case .writtenOff: .writtenOff
      }
    }
  }

  package init(
    _ kind: Kind, charge: Int, device: PaymentDeviceID, job: Int?, order: Order?, ticket: Ticket?,
    machine: MachineID? = nil, place: Int? = nil, receipt: Receipt = Receipt(),
    reason: String? = nil
  ) {
    self.kind = kind
    self.charge = charge
    self.device = device
    self.job = job
    self.order = order
    self.ticket = ticket
    self.machine = machine
    self.place = place
    self.receipt = receipt
    self.reason = reason
  }
}

extension PaymentStep: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    kind = try members.reads("status", \.kind)
    job = members.optional("job", \.job)
    ticket = members.ticket(\.ticket)
    order = members.order(\.order)
    machine = members.optional("machine", \.machine)
    place = members.optional("place", \.place)
    charge = try members.chargeNumber(\.charge)
    device = try members.required("device", \.device)
    reason = members.optional("reason", \.reason)?.visible(upTo: SensorDecision.maximumWord)
    receipt = try members.optional("payment") { $0.receipt.isEmpty ? nil : $0.receipt } ?? Receipt()
  }
}
