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

  mutating func record(_ entry: LedgerEntry, answer: Answer, key: RepeatKey?) {
    transaction.records.append(.init(entry: entry, answer: answer, key: key))
    answers.append(Message(answer))
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

  mutating func repeatAnswer(_ answer: Answer, to admission: Admission) {
    answers.append(Message(admission.answer(answer.repeated.payload)))
  }

  mutating func turnAway(_ admission: Admission, _ rejection: Rejection) {
    rejections.append((admission.source, rejection))
    guard admission.isAnswered else { return }
    answers.append(Message(admission.answer(CommandResult(rejection).payload)))
  }

  mutating func answer(_ messages: [Message]) { answers += messages }

  /// What was decided, and committed, behind this.
  package mutating func append(_ other: Decision) {
    answers += other.answers
    transaction.records += other.transaction.records
    rejections += other.rejections
  }
}

extension Message {
  package init(_ answer: Answer) {
    self.init(
      topic: answer.topic, payload: answer.payload, correlationData: answer.correlationData)
  }
}

extension Answer {
  /// The answer again, to a sender who may have it already.
  package var repeated: Answer {
    Answer(
      topic: topic, correlationData: correlationData, payload: CommandResult.repeating(payload))
  }
}
