import Postgres

/// Where the archive is, and what goes into it.
package struct ArchiveSettings: Sendable {
  /// A connection string of libpq.
  package var database: String
  package var password: String?
  /// What the topics of the kiosks start with.
  package var root: String
  /// Of the session in which the broker keeps events; the same for every archiver of a chain. Kiosks know
  /// it by this name, too: it is a `Request.ID`.
  package var clientID: String
  /// So many events are committed at once.
  package var batch: Int
  /// How long the broker keeps events while nobody archives.
  package var sessionExpiry: Duration
  /// So long an entry is waited for before its kiosk is asked for it.
  package var gapDelay: Duration
  /// Whose days are summed up: a name of the IANA time zone database.
  package var timeZone: String

  package init(
    database: String, password: String? = nil, root: String = "kiosk",
    clientID: String = "juice-archive", batch: Int = 5000,
    sessionExpiry: Duration = .seconds(2_592_000), gapDelay: Duration = .seconds(60),
    timeZone: String = "UTC"
  ) {
    self.database = database
    self.password = password
    self.root = root
    self.clientID = clientID
    self.batch = batch
    self.sessionExpiry = sessionExpiry
    self.gapDelay = gapDelay
    self.timeZone = timeZone
  }
}
