import MessageBroker
import Postgres

/// What cannot be read is kept for a person to look at, and does not stop anything.
extension ArchiveStore {
  /// The newest are kept, so many.
  static let maximumRows = 10_000
  /// So much of a message is kept, in bytes.
  private static let payload = 4096

  func quarantine(_ rejections: [EventBatch.Rejection]) throws(DatabaseError) {
    guard !rejections.isEmpty else { return }
    // What nobody would look at need not be written: all but as many as are kept.
    var text = CopyText()
    for rejection in rejections.suffix(Self.maximumRows) {
      let topic = rejection.message.topic.unicodeScalars.prefix(512)
      text.field(String(String.UnicodeScalarView(topic.map { $0 == "\0" ? "\u{FFFD}" : $0 })))
      text.field(rejection.message.payload.prefix(Self.payload))
      text.field(String(String.UnicodeScalarView(rejection.reason.unicodeScalars.prefix(512))))
      text.endRow()
    }
    try database.run(
      """
      CREATE TEMP TABLE rejection (topic text, payload bytea, reason text) ON COMMIT DROP
      """)
    try database.copy("COPY rejection FROM STDIN", text.bytes)
    try database.run(
      """
      INSERT INTO quarantine (digest, topic, payload, reason, times)
      SELECT md5(rejection::text)::uuid, topic, payload, reason, count(*) FROM rejection
      GROUP BY topic, payload, reason, rejection
      ON CONFLICT (digest) DO UPDATE
        SET times = quarantine.times + excluded.times, latest = excluded.latest;
      DELETE FROM quarantine WHERE digest IN (
        SELECT digest FROM quarantine ORDER BY latest DESC OFFSET \(Self.maximumRows))
      """)
  }
}
