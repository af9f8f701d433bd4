package import KioskMessages
package import MessageBroker

/// What a batch comes to: first commit the transaction, then answer and settle.
package struct Decision: Sendable {
  /// What somebody waits for: results, and what panels show of them.
  package private(set) var answers: [Message] = []
  package var transaction = LedgerTransaction()
  /// What was turned away at the door, for the log.
  package private(set) var rejections: [(source: Source, rejection: Rejection)] = []
  /// Where in the transaction's echoes those are that went behind the last new delivery.
  private var moved = 0..<0

  /// Nothing came in.
  package init() {}

  mutating func record(_ row: LedgerRow, answering admission: Admission) {
    transaction.records.append(.init(row, key: admission.key, reply: admission.reply))
    answers.append(admission.answer(row.result))
  }

  /// Deliveries stay in the order in which they come again: what is known already, and was to come
  /// before a new one, goes behind it; once behind the last of several new ones.
  mutating func keepOrder(behind admission: Admission) {
    guard case .delivery = admission.key, !admission.overtaken.isEmpty else { return }
    let isAgain = moved.count == admission.overtaken.count
    if isAgain, moved.upperBound == transaction.echoes.count {
      transaction.echoes.removeLast(moved.count)
    }
    let start = transaction.echoes.count
    let position = transaction.records.count
    transaction.echoes += admission.overtaken.map {
      .init(fingerprint: $0, recordsBefore: position)
    }
    moved = start..<transaction.echoes.count
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
  }
}
