package import KioskMessages

/// What one batch adds to the ledger: all of it or nothing.
package struct LedgerTransaction: Hashable, Sendable {
  package var records: [Record] = []
  package var echoes: [Echo] = []
  /// The entry up to which the broker has confirmed results and events.
  package var confirmed: Int?
  package var service: ServiceState?
  /// What devices count by, by key; see `LedgerState`.
  package var marks: [String: String] = [:]

  package init() {}

  package var isEmpty: Bool { self == LedgerTransaction() }

  /// An entry, what its sender is told, and how a repetition of its request is recognised.
  package struct Record: Hashable, Sendable {
    package let entry: LedgerEntry
    package let answer: Answer?
    package let key: RepeatKey?

    package init(entry: LedgerEntry, answer: Answer? = nil, key: RepeatKey? = nil) {
      self.entry = entry
      self.answer = answer
      self.key = key
    }
  }
}

extension LedgerTransaction {
  /// A delivery that counts as one with an earlier entry: its redelivery must not count either.
  package struct Echo: Hashable, Sendable {
    package let fingerprint: Fingerprint
    /// Of the entry; `nil` for a delivery that is known already, and has its place here.
    package let seq: Int?
    /// How many records of the transaction it came behind.
    package let recordsBefore: Int

    package init(fingerprint: Fingerprint, seq: Int? = nil, recordsBefore: Int) {
      self.fingerprint = fingerprint
      self.seq = seq
      self.recordsBefore = recordsBefore
    }
  }
}

/// An answer as it went out.
package struct Answer: Hashable, Sendable {
  package let topic: String
  package let correlationData: [UInt8]?
  package let payload: [UInt8]

  package init(topic: String, correlationData: [UInt8]? = nil, payload: [UInt8]) {
    self.topic = topic
    self.correlationData = correlationData
    self.payload = payload
  }
}

/// What tells that a request is one that was answered before.
package enum RepeatKey: Hashable, Sendable {
  /// The sender's own id.
  case request(Source, Request.ID)
  /// For a button that cannot count: holds only for a redelivery in a resumed session.
  case delivery(Fingerprint)
}
