package import KioskProtocol

/// The changes of one batch to the ledger, committed together or not at all.
package struct LedgerTransaction: Hashable, Sendable {
  package var records: [Record] = []
  /// The deliveries to recognize by their fingerprints, in the order in which the broker would
  /// redeliver them.
  package private(set) var kept: [KeptDelivery] = []
  /// The entry up to which the broker has confirmed answers and events, or `nil` to keep the stored value.
  package var confirmed: Int?
  /// The entry up to which the upstream broker has confirmed all entries, or `nil` to keep the
  /// stored value; see `Uplink`.
  package var uplinked: Int?
  package var service: ServiceState?
  /// Changed rows of the table `state`: payloads, or `nil` for a record that has ended.
  package private(set) var state: [StateKey: [UInt8]?] = [:]
  package var clockStep: ClockStep?
  package var clock: ClockRecord?
  /// The number of QoS 1 deliveries in the batch, without redeliveries. The ledger deletes
  /// fingerprints by this count, so the count includes deliveries that added no entry.
  package var deliveries = 0

  package init() {}

  /// Whether there is nothing to write: `deliveries` alone is no reason for a commit.
  package var isEmpty: Bool {
    records.isEmpty && kept.isEmpty && confirmed == nil && uplinked == nil && service == nil
      && clockStep == nil && clock == nil && state.isEmpty
  }

  /// Stores a record in the table `state`, or deletes it if it is `nil`.
  package mutating func set<Record: StateRecord>(
    _ record: Record?, of key: some LosslessStringConvertible
  ) {
    state[StateKey(Record.kind, key.description)] = .some(record?.payload)
  }

  /// Returns whether records of a kind change.
  package func changes(_ kind: StateKey.Kind) -> Bool { state.keys.contains { $0.kind == kind } }

  /// A row with the key of its repeats and the destination of its answer.
  package struct Record: Hashable, Sendable {
    package internal(set) var row: LedgerRow
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
  /// A delivery that the ledger recognizes by its fingerprint: its command has no id, or it is retained.
  package struct KeptDelivery: Hashable, Sendable {
    package let fingerprint: Fingerprint
    /// The entry of the delivery, or of the press that the delivery repeats; or `nil` if the ledger
    /// has recorded the delivery already and only its position changes.
    package let entry: Int?
    /// The entry whose delivery the kiosk acknowledges together with this delivery.
    package let acknowledgedWith: Int
  }

  /// Adds a record, and its delivery if repeats are recognized by the fingerprint.
  package mutating func append(_ record: Record, skipping skipped: ArraySlice<Fingerprint> = []) {
    records.append(record)
    guard case .delivery(let fingerprint) = record.key else { return }
    let seq = record.row.entry.seq
    keep(fingerprint, as: seq, acknowledgedWith: seq, skipping: skipped)
  }

  /// Adds a delivery.
  ///
  /// - Parameters:
  ///   - entry: The entry of the delivery, or of the press that the delivery repeats.
  ///   - other: The entry whose delivery the kiosk acknowledges together with this delivery.
  ///   - skipped: Recorded deliveries that the broker redelivers after this one. The call moves
  ///     them after this one, also if the transaction has moved them before.
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

/// The response topic and correlation data that a sender requested (MQTT 5, 4.10), kept until the
/// broker has confirmed the answer.
package struct Reply: Hashable, Sendable {
  /// The response topic, or `nil` for the sender's default result topic.
  package let topic: String?
  package let correlationData: [UInt8]?

  package init(topic: String?, correlationData: [UInt8]? = nil) {
    self.topic = topic
    self.correlationData = correlationData
  }
}

extension Reply: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    topic = members.optional("topic", \.topic)
    // Each byte is one Unicode scalar.
    let correlation = members.optional("correlation") { reply in
      reply.correlationData.map { bytes in
        String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
      }
    }
    correlationData = correlation.map { text in
      text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    }
  }
}

/// The key by which the kiosk finds the earlier row about the same request or the same charge.
package enum RepeatKey: Hashable, Sendable {
  /// The id that the sender gave.
  case request(Source, Request.ID)
  /// The number of a charge that a payment device reports on.
  case charge(Int)
  /// The fingerprint of the delivery, for a command without an id and for a retained message.
  /// Matches only redeliveries in a resumed session.
  case delivery(Fingerprint)
}
