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
  /// How many messages the broker has delivered that wait for an acknowledgement, since the last
  /// transaction: by them fingerprints are forgotten, whether they added a record or not.
  package var deliveries = 0

  package init() {}

  /// Whether there is nothing to write. Deliveries alone are only counted.
  package var isEmpty: Bool {
    records.isEmpty && echoes.isEmpty && confirmed == nil && service == nil && marks.isEmpty
  }

  /// A row, how a repetition of its request is recognised, and where its answer goes.
  package struct Record: Hashable, Sendable {
    package let row: LedgerRow
    package let key: RepeatKey?
    package let reply: Reply?

    package init(_ row: LedgerRow, key: RepeatKey? = nil, reply: Reply? = nil) {
      self.row = row
      self.key = key
      self.reply = reply
    }

    package var entry: LedgerEntry { row.entry }
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

/// How a sender asked for its answer by MQTT 5 (4.10): kept until the broker has the answer.
package struct Reply: Hashable, Sendable {
  /// `nil`: the sender's usual topic for results.
  package let topic: String?
  package let correlationData: [UInt8]?

  package init(topic: String?, correlationData: [UInt8]? = nil) {
    self.topic = topic
    self.correlationData = correlationData
  }
}

/// What tells that a request is one that was answered before.
package enum RepeatKey: Hashable, Sendable {
  /// The sender's own id.
  case request(Source, Request.ID)
  /// For a button that cannot count: holds only for a redelivery in a resumed session.
  case delivery(Fingerprint)
}
