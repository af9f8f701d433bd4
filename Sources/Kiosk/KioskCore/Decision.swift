package import KioskProtocol
package import MessageBroker

/// What a batch comes to: first commit the transaction, then answer and settle.
package struct Decision: Sendable {
  /// What somebody waits for: results, and what panels show of them.
  package private(set) var answers: [Message] = []
  package var transaction = LedgerTransaction()
  /// What was turned away at the door, for the log.
  package private(set) var rejections: [(source: Source, rejection: Rejection)] = []

  /// Whether a machine, or its jobs, are to be shown otherwise than before.
  package var machinesChanged = false

  /// Nothing came in.
  package init() {}

  mutating func record(_ row: LedgerRow, answering parsed: ParsedDelivery) {
    transaction.append(
      .init(row, key: parsed.key, reply: parsed.reply), skipping: parsed.skipped)
    answers.append(parsed.answer(row.result))
  }

  /// What became of an order that was accepted.
  mutating func record(_ row: LedgerRow, answering reply: Reply?, on topics: KioskTopics) {
    transaction.records.append(.init(row, reply: reply))
    if let answer = topics.answer(row, to: reply) { answers.append(answer) }
  }

  /// It counts as one with an earlier entry, and so must its redelivery.
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

  mutating func answer(_ messages: [Message]) { answers += messages }

  /// What was decided, and committed, behind this.
  package mutating func append(_ other: Decision) {
    answers += other.answers
    transaction.records += other.transaction.records
    rejections += other.rejections
    machinesChanged = machinesChanged || other.machinesChanged
  }
}
