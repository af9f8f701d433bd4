import MessageBroker
import Postgres

/// Messages that cannot be archived. The archiver stores them for inspection and continues.
extension ArchiveStore {
  /// Maximum number of stored messages. Above it, those with the oldest `latest` are deleted.
  static let maximumRows = 10_000
  /// Maximum number of stored messages of a topic, so that one kiosk does not displace the others.
  private static let maximumRowsOfTopic = 100
  /// Maximum length of the stored part of a payload, in bytes.
  private static let payload = 4096

  func quarantine(_ rejections: [EventBatch.QuarantinedMessage]) throws(DatabaseError) {
    guard !rejections.isEmpty else { return }
    // Rows above the maximum would be deleted at once, so they are not written.
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
        OR digest IN (
          SELECT digest FROM (
            SELECT digest, row_number() OVER (PARTITION BY topic ORDER BY latest DESC, digest) AS place
            FROM quarantine WHERE topic IN (SELECT topic FROM rejection)
          ) ranked WHERE place > \(Self.maximumRowsOfTopic))
      """)
  }
}
