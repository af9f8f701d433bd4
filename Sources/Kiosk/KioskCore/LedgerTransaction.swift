package import KioskProtocol

/// What one batch adds to the ledger: all of it or nothing.
package struct LedgerTransaction: Hashable, Sendable {
  package var records: [Record] = []
  /// The deliveries that are to be recognised when they come again, in the order in which they would.
  package private(set) var kept: [KeptDelivery] = []
  /// The entry up to which the broker has confirmed results and events.
  package var confirmed: Int?
  /// Every entry up to this one is up there; see `Uplink`.
  package var uplinked: Int?
  package var service: ServiceState?
  /// What devices count by, by key; see `LedgerState`.
  package var marks: [String: String] = [:]
  /// Jobs that are another now, by the entry of their order; `nil`: they are over.
  package var jobs: [Int: Job?] = [:]
  package var machines: [MachineID: MachineRecord] = [:]
  /// How many messages the broker has delivered that wait for an acknowledgement, since the last
  /// transaction: by them fingerprints are forgotten, whether they added a record or not.
  package var deliveries = 0

  package init() {}

  /// Whether there is nothing to write. Deliveries alone are only counted.
  package var isEmpty: Bool {
    records.isEmpty && kept.isEmpty && confirmed == nil && uplinked == nil && service == nil
      && marks.isEmpty && jobs.isEmpty && machines.isEmpty
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
  }
}

extension LedgerTransaction {
  /// A delivery without a sender's id.
  package struct KeptDelivery: Hashable, Sendable {
    package let fingerprint: Fingerprint
    /// What it came to; `nil`: the ledger keeps the delivery already, and only its place is new.
    package let entry: Int?
    /// It is acknowledged once the delivery of this entry is.
    package let acknowledgedWith: Int
  }

  /// Adds a record, and the delivery that it came from if a repetition is recognised by that.
  package mutating func append(_ record: Record, skipping skipped: ArraySlice<Fingerprint> = []) {
    records.append(record)
    guard case .delivery(let fingerprint) = record.key else { return }
    let seq = record.row.entry.seq
    keep(fingerprint, as: seq, acknowledgedWith: seq, skipping: skipped)
  }

  /// - Parameters:
  ///   - entry: what the delivery came to.
  ///   - other: the delivery is acknowledged once the delivery of this entry is.
  ///   - skipped: kept deliveries that the broker will send again behind this one. Those that the
  ///     transaction has put behind an earlier one move on.
  package mutating func keep(
    _ fingerprint: Fingerprint, as entry: Int, acknowledgedWith other: Int,
    skipping skipped: ArraySlice<Fingerprint> = []
  ) {
    let last = kept.suffix(skipped.count)
    if last.allSatisfy({ $0.entry == nil }) { kept.removeLast(last.count) }
    kept.append(KeptDelivery(fingerprint: fingerprint, entry: entry, acknowledgedWith: other))
    for fingerprint in skipped {
      kept.append(KeptDelivery(fingerprint: fingerprint, entry: nil, acknowledgedWith: other))
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
