import JuiceDomain
import KioskProtocol
import Postgres

/// The kiosks' reports about the menu that the chain sent them.
extension ArchiveStore {
  /// Maximum length of the detail text that is stored from a report, in Unicode scalars.
  private static let detail = 1000

  func saveMenuReports(_ reports: [KioskID: DesiredMenuReport]) throws(DatabaseError) {
    guard !reports.isEmpty else { return }
    var text = CopyText()
    for (kiosk, report) in reports.sorted(by: { $0.key < $1.key }) {
      text.field(kiosk.text)
      switch report {
      case .taken(let version, let detail):
        text.field(version)
        text.field("taken")
        text.field(detail.map(Self.storable))
      case .refused(let version, let detail):
        text.field(version)
        text.field("refused")
        text.field(Self.storable(detail))
      }
      text.endRow()
    }
    try database.run(
      "CREATE TEMP TABLE told (kiosk text COLLATE \"C\", version bigint, status text, detail text) ON COMMIT DROP"
    )
    try database.copy("COPY told (kiosk, version, status, detail) FROM STDIN", text.bytes)
    try database.run(
      """
      INSERT INTO kiosk_menu (kiosk, version, detail, since) SELECT kiosk, version, detail, now() FROM told
      WHERE status = 'taken'
      ON CONFLICT (kiosk) DO UPDATE SET version = excluded.version, detail = excluded.detail, since = excluded.since
      WHERE (kiosk_menu.version, kiosk_menu.detail) IS DISTINCT FROM (excluded.version, excluded.detail);

      -- The kiosk has lost the latest menu that it had taken, for example with its disk: send it again.
      UPDATE rollout_kiosk SET status = NULL, detail = NULL, sent = now(), last_sent = '-infinity', lost = now()
      FROM told WHERE told.status = 'taken' AND rollout_kiosk.kiosk = told.kiosk
        AND rollout_kiosk.status = 'taken' AND rollout_kiosk.version > told.version
        AND rollout_kiosk.version = (SELECT max(version) FROM rollout_kiosk last
          WHERE last.kiosk = told.kiosk AND last.status = 'taken');

      -- A report without a version is about the menu that was sent last.
      UPDATE rollout_kiosk SET status = told.status, detail = told.detail, sent = coalesce(sent, now()),
        lost = CASE told.status WHEN 'taken' THEN NULL ELSE lost END
      FROM told WHERE rollout_kiosk.kiosk = told.kiosk
        AND rollout_kiosk.version = coalesce(told.version, (
          SELECT version FROM rollout_kiosk last
          WHERE last.kiosk = told.kiosk AND last.sent IS NOT NULL AND last.status IS NULL
          ORDER BY last_sent DESC NULLS LAST, version DESC LIMIT 1))
        AND (rollout_kiosk.status, rollout_kiosk.detail) IS DISTINCT FROM (told.status, told.detail);

      -- The kiosk is online and uses another menu than the one sent: send it again now.
      UPDATE rollout_kiosk SET last_sent = '-infinity' FROM told
      WHERE rollout_kiosk.kiosk = told.kiosk AND rollout_kiosk.version <> told.version
        AND sent IS NOT NULL AND last_sent IS NOT NULL AND rollout_kiosk.status IS NULL
      """)
  }

  /// Returns the text without U+0000 and with the maximum length.
  private static func storable(_ text: String) -> String {
    let scalars = text.unicodeScalars.prefix(detail).map { $0 == "\0" ? "\u{FFFD}" : $0 }
    return String(String.UnicodeScalarView(scalars))
  }
}
