package import KioskProtocol
package import MessageBroker

/// The output for a batch. The caller commits the transaction first, then publishes the answers and
/// acknowledges the deliveries.
package struct Decision: Sendable {
  /// The time of the batch.
  let now: Moment
  /// The answers to senders, and the feedback to panels.
  package private(set) var answers: [Message] = []
  package var transaction = LedgerTransaction()
  /// The events of the committed entries.
  package var events: [[UInt8]] = []
  /// The commands that were rejected without an entry, for the log.
  package private(set) var rejections: [(source: Source, rejection: Rejection)] = []

  /// The admitted changes of the settings. The caller applies them after it acknowledges the batch.
  package private(set) var settings: [ParsedDelivery] = []

  /// Whether the published state of a machine or of its jobs has changed.
  package var machinesChanged = false

  /// Whether the published state of a payment device or of its charges has changed.
  package var paymentChanged = false

  /// Whether the recorded state of a sensor has changed.
  package var sensorsChanged = false

  /// Sensors that have sent their first message without a usable value since the last reading.
  package var sensorsIgnored: [SensorID] = []

  /// Creates an empty decision.
  package init(at now: Moment) { self.now = now }

  mutating func record(_ row: LedgerRow, answering parsed: ParsedDelivery) {
    transaction.append(
      .init(row, key: parsed.key, reply: parsed.reply), skipping: parsed.skipped)
    answers.append(parsed.answer(row.result))
  }

  /// Records an entry that does not answer a delivery of this batch, such as the end of an earlier
  /// order. Answers the sender of that order, if the entry has a source.
  mutating func record(_ row: LedgerRow, answering reply: Reply?, under settings: KioskSettings) {
    transaction.records.append(.init(row, reply: reply))
    if let answer = settings.answer(row, to: reply) { answers.append(answer) }
  }

  /// Records that a delivery repeats an earlier entry, so that the kiosk also recognizes a
  /// redelivery of this delivery. Does nothing if the command has an id.
  mutating func repeatEntry(_ seq: Int, for parsed: ParsedDelivery, acknowledgedWith other: Int) {
    guard case .delivery(let fingerprint) = parsed.key else { return }
    transaction.keep(
      fingerprint, as: seq, acknowledgedWith: other, skipping: parsed.skipped)
  }

  mutating func repeatAnswer(_ row: LedgerRow, to parsed: ParsedDelivery) {
    var result = row.result
    result.isDuplicate = true
    answers.append(parsed.answer(result))
  }

  mutating func reject(_ parsed: ParsedDelivery, _ rejection: Rejection) {
    rejections.append((parsed.source, rejection))
    guard parsed.isAnswered else { return }
    answers.append(parsed.answer(CommandResult(rejection)))
  }

  mutating func change(_ parsed: ParsedDelivery) { settings.append(parsed) }

  mutating func answer(_ messages: [Message]) { answers += messages }

  /// Appends a later decision that is already committed. Of its transaction, appends only records.
  package mutating func append(_ other: Decision) {
    answers += other.answers
    transaction.records += other.transaction.records
    events += other.events
    rejections += other.rejections
    settings += other.settings
    machinesChanged = machinesChanged || other.machinesChanged
    paymentChanged = paymentChanged || other.paymentChanged
    sensorsChanged = sensorsChanged || other.sensorsChanged
    sensorsIgnored += other.sensorsIgnored
  }
}
