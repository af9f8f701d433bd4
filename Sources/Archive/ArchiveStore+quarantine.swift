import MessageBroker
import Postgres

/// What cannot be read is kept for a person to look at, and does not stop anything.
extension ArchiveStore {
  /// The newest are kept, so many.
  static let quarantined = 10_000
  /// So much of a message is kept, in bytes.
  private static let payload = 4096

  func quarantine(_ refusals: [EventBatch.Refusal]) throws(DatabaseError) {
    guard !refusals.isEmpty else { return }
    // What nobody would look at need not be written: all but as many as are kept.
    var text = CopyText()
    for refusal in refusals.suffix(Self.quarantined) {
      let topic = refusal.message.topic.unicodeScalars.prefix(512)
      text.field(String(String.UnicodeScalarView(topic.map { $0 == "\0" ? "\u{FFFD}" : $0 })))
      text.field(refusal.message.payload.prefix(Self.payload))
      text.field(String(String.UnicodeScalarView(refusal.why.unicodeScalars.prefix(512))))
      text.endRow()
    }
    try database.run(
      """
      CREATE TEMP TABLE refusal (topic text, payload bytea, why text) ON COMMIT DROP
      """)
    try database.copy("COPY refusal FROM STDIN", text.bytes)
    try database.run(
      """
      INSERT INTO quarantine (digest, topic, payload, why, times)
      SELECT md5(refusal::text)::uuid, topic, payload, why, count(*) FROM refusal
      GROUP BY topic, payload, why, refusal
      ON CONFLICT (digest) DO UPDATE
        SET times = quarantine.times + excluded.times, latest = excluded.latest;
      DELETE FROM quarantine WHERE digest IN (
        SELECT digest FROM quarantine ORDER BY latest DESC OFFSET \(Self.quarantined))
      """)
  }
}
