package import KioskMessages
package import MessageBroker

/// What a batch comes to: first commit the transaction, then answer and settle.
package struct Decision: Sendable {
  /// What somebody waits for: results, and what panels show of them.
  package private(set) var answers: [Message] = []
  package var transaction = LedgerTransaction()
  /// What was turned away at the door, for the log.
  package private(set) var rejections: [(source: Source, rejection: Rejection)] = []

  /// Whether a machine, or its jobs, are to be shown otherwise than before.
  package var showsMachines = false

  /// Nothing came in.
  package init() {}

  mutating func record(_ row: LedgerRow, answering admission: Admission) {
    transaction.append(
      .init(row, key: admission.key, reply: admission.reply), overtaking: admission.overtaken)
    answers.append(admission.answer(row.result))
  }

  /// What became of an order that was accepted.
  mutating func record(_ row: LedgerRow, answering reply: Reply?, on topics: KioskTopics) {
    transaction.records.append(.init(row, reply: reply))
    if let answer = topics.answer(row, to: reply) { answers.append(answer) }
  }

  /// It counts as one with an earlier entry, and so must its redelivery.
  mutating func repeatEntry(_ seq: Int, for admission: Admission, acknowledgedWith other: Int) {
    guard case .delivery(let fingerprint) = admission.key else { return }
    transaction.keep(
      fingerprint, as: seq, acknowledgedWith: other, overtaking: admission.overtaken)
  }

  mutating func repeatAnswer(_ row: LedgerRow, to admission: Admission) {
    var result = row.result
    result.isDuplicate = true
    answers.append(admission.answer(result))
  }

  mutating func turnAway(_ admission: Admission, _ rejection: Rejection) {
    rejections.append((admission.source, rejection))
    guard admission.isAnswered else { return }
    answers.append(admission.answer(CommandResult(rejection)))
  }

  mutating func answer(_ messages: [Message]) { answers += messages }

  /// What was decided, and committed, behind this.
  package mutating func append(_ other: Decision) {
    answers += other.answers
    transaction.records += other.transaction.records
    rejections += other.rejections
    showsMachines = showsMachines || other.showsMachines
  }
}
