package import KioskMessages
package import Ledger
package import MessageBroker

/// What a batch comes to: first commit the transaction, then publish, then settle.
package struct Decision: Sendable {
  package private(set) var publications: [Message] = []
  package var transaction = LedgerTransaction()
  /// What was turned away at the door, for the log.
  package private(set) var rejections: [(source: Source, rejection: Rejection)] = []

  mutating func record(_ entry: LedgerEntry, answer: Answer, key: RepeatKey?) {
    transaction.records.append(.init(entry: entry, answer: answer, key: key))
    publications.append(Message(answer))
  }

  mutating func repeatAnswer(_ answer: Answer, to admission: Admission) {
    publications.append(
      Message(admission.answer(CommandResult.repeating(answer.payload))))
  }

  mutating func turnAway(_ admission: Admission, _ rejection: Rejection) {
    rejections.append((admission.source, rejection))
    guard admission.isAnswered else { return }
    publications.append(Message(admission.answer(CommandResult(rejection).payload)))
  }

  mutating func publish(_ messages: [Message]) { publications += messages }
}

extension Message {
  package init(_ answer: Answer) {
    self.init(
      topic: answer.topic, payload: answer.payload, correlationData: answer.correlationData)
  }
}
