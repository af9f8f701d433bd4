package import JuiceDomain

/// The logic of a payment device without a card terminal, as a value: the contract in
/// payment-contract.md.
///
/// The device executes the returned actions in order. Its journal, the stored records, must survive
/// a power cut.
package struct PaymentFirmware: Sendable {
  /// The highest number of a charge in the journal; 0 if there is none.
  package private(set) var last = 0
  /// The charge that the customer must pay now, or `nil` if there is none.
  package private(set) var prompt: ChargeRequest?
  /// Whether the device cannot begin a charge.
  package var isInFault = false
  private var records: [Int: Record] = [:]
  /// The amounts captured and refunded, in smallest units, and the number of captures since the
  /// last total; and the number of totals.
  private var sums: (captured: Int, refunded: Int, count: Int, total: Int) = (0, 0, 0, 0)
  private var currency: Currency?

  /// A line of the journal: the state of a charge, or a total.
  package struct Record: Hashable, Sendable {
    package let charge: Int
    package let state: State
    package let money: Money?

    package enum State: String, Hashable, Sendable {
      case prompted, held, declined, captured, released, refunded, unknown
      /// The end of a day; `charge` is the number of the total.
      case total
    }
  }

  package enum Action: Hashable, Sendable {
    /// Appends the record to the journal durably, before any other action.
    case store(Record)
    case publish(PaymentAnswer)
    case total(PaymentTotal)
    /// Publishes that all open charges were published.
    case inventory(epoch: Int)
  }

  package init() {}

  /// Restores the state from a journal.
  ///
  /// - Returns: The actions that decline the charges whose prompts a power cut has interrupted.
  package mutating func restore(_ journal: [Record]) -> [Action] {
    for record in journal { note(record) }
    return records.values.filter { $0.state == .prompted }.sorted { $0.charge < $1.charge }
      .flatMap { record -> [Action] in [store(record.charge, .declined, record.money)] }
  }

  /// The answers about prompted, held and unknown charges, to publish on each connection.
  package var openAnswers: [PaymentAnswer] {
    records.values.filter { $0.state == .held || $0.state == .prompted || $0.state == .unknown }
      .sorted { $0.charge < $1.charge }.map { answer(about: $0.charge) }
  }

  /// Processes a message on `charge/<device>`.
  package mutating func charge(_ request: ChargeRequest) -> [Action] {
    guard request.charge > last else { return [.publish(answer(about: request.charge))] }
    // No answer: the kiosk sends the charge again.
    guard !isInFault, prompt == nil else { return [] }
    prompt = request
    return [
      store(request.charge, .prompted, request.amount), .publish(answer(about: request.charge)),
    ]
  }

  /// Processes a message on `charge/<device>/open`.
  package func inventory(epoch: Int) -> [Action] {
    openAnswers.map { .publish($0) } + [.inventory(epoch: epoch)]
  }

  /// Processes a message on `charge/<device>/<action>`, except `open`.
  ///
  /// - Parameter units: The amount to capture in smallest units, or `nil` for the whole held
  ///   amount.
  package mutating func request(
    _ action: ChargeRequest.Action, _ charge: Int, units: Int?
  ) -> [Action] {
    var actions: [Action] = []
    let known = records[charge]
    switch (action, known?.state) {
    case (.capture, .held):
      guard let held = known?.money else { break }
      let captured = Money(units: max(1, min(units ?? held.units, held.units)), held.currency)
      actions = [store(charge, .captured, captured)]
    case (.release, .held), (.release, .prompted):
      actions = [store(charge, .released, nil)]
    case (.refund, .captured): actions = [store(charge, .refunded, known?.money)]
    case (.release, nil) where charge > last: actions = [store(charge, .released, nil)]
    case (.capture, nil) where charge > last, (.refund, nil) where charge > last:
      actions = [store(charge, .unknown, nil)]
    default: break
    }
    if prompt?.charge == charge, records[charge]?.state != .prompted { prompt = nil }
    return actions + [.publish(answer(about: charge))]
  }

  /// Reports that the customer has paid, or that the payment was declined.
  ///
  /// - Parameter reason: The reason for a decline, or `nil` if the amount is held.
  package mutating func pay(declined reason: String? = nil) -> [Action] {
    guard let prompt else { return [] }
    self.prompt = nil
    let stored = store(
      prompt.charge, reason == nil ? .held : .declined, reason == nil ? prompt.amount : nil)
    var said = answer(about: prompt.charge)
    if let reason { said = PaymentAnswer(charge: said.charge, status: said.status, reason: reason) }
    return [stored, .publish(said)]
  }

  /// Ends the device's day.
  ///
  /// - Returns: The actions, or none while `openAnswers` is not empty.
  package mutating func endDay(at now: Timestamp) -> [Action] {
    guard openAnswers.isEmpty, let currency = currency ?? Currency("EUR") else { return [] }
    let total = PaymentTotal(
      total: sums.total + 1, at: now, captured: Money(units: sums.captured, currency),
      refunded: Money(units: sums.refunded, currency), count: sums.count)
    return [store(total.total, .total, nil), .total(total)]
  }

  private mutating func store(_ charge: Int, _ state: Record.State, _ money: Money?) -> Action {
    let record = Record(charge: charge, state: state, money: money)
    note(record)
    return .store(record)
  }

  private mutating func note(_ record: Record) {
    guard record.state != .total else {
      sums = (0, 0, 0, record.charge)
      return
    }
    last = max(last, record.charge)
    records[record.charge] = record
    guard let money = record.money else { return }
    currency = money.currency
    if record.state == .captured {
      sums.captured &+= money.units
      sums.count += 1
    }
    if record.state == .refunded { sums.refunded &+= money.units }
  }

  /// Returns the known state of a charge.
  private func answer(about charge: Int) -> PaymentAnswer {
    let record = records[charge]
    let status: PaymentAnswer.Status =
      switch (record?.state, record?.money) {
      case (.prompted, _): .waiting(isPresented: false)
      case (.held, let money?): .held(money)
      case (.captured, let money?): .captured(money)
      case (.refunded, let money?): .refunded(money)
      case (.declined, _): .declined
      case (.released, _): .released
      default: .unknown
      }
    let receipt = status.money.map { _ in Receipt(receipt: String(charge % 10_000), card: "test") }
    return PaymentAnswer(charge: charge, status: status, receipt: receipt ?? Receipt())
  }
}

extension PaymentFirmware.Record: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    charge = try members.required("charge", \.charge)
    state = try members.required("state", \.state)
    money = members.units(\.money)
  }
}

extension PaymentFirmware.Record.State: MemberValue {}
