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
      case .taken(let version, _):
        text.field(version)
        text.field("taken")
        text.field(nil as String?)
      case .refused(let version, let detail):
        text.field(version)
        text.field("refused")
        let shown = detail.unicodeScalars.prefix(Self.detail).map { $0 == "\0" ? "\u{FFFD}" : $0 }
        text.field(String(String.UnicodeScalarView(shown)))
      }
      text.endRow()
    }
    try database.run(
      "CREATE TEMP TABLE told (kiosk text COLLATE \"C\", version bigint, status text, detail text) ON COMMIT DROP"
    )
    try database.copy("COPY told (kiosk, version, status, detail) FROM STDIN", text.bytes)
    try database.run(
      """
      INSERT INTO kiosk_menu (kiosk, version, since) SELECT kiosk, version, now() FROM told
      WHERE status = 'taken'
      ON CONFLICT (kiosk) DO UPDATE SET version = excluded.version, since = excluded.since
      WHERE kiosk_menu.version <> excluded.version;

      -- A report without a version is about the menu that was sent last.
      UPDATE rollout_kiosk SET status = told.status, detail = told.detail, sent = coalesce(sent, now())
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
}
