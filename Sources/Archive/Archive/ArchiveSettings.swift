import Postgres

/// The settings of an archiver: its database, its MQTT session, its daily sums and its retention.
package struct ArchiveSettings: Sendable {
  /// A connection string of libpq.
  package var database: String
  package var password: String?
  /// The topic levels before the kiosk id, the same for all kiosks.
  package var root: String
  /// The MQTT client identifier of the session in which the broker keeps events; the same for every
  /// archiver of a chain. It is also the archive's name in the topics of replay requests.
  package var clientID: String
  /// Maximum number of deliveries stored in one transaction.
  package var batch: Int
  /// Time for which the broker keeps events while no archiver is connected.
  package var sessionExpiry: Duration
  /// Time from the detection of a gap by an event or report to the first request for its entries.
  package var gapDelay: Duration
  /// The time zone whose days are summed, as a name of the IANA time zone database.
  package var timeZone: String
  /// Minimum number of days for which entries are kept after their arrival, or `nil` for no limit.
  package var keepDays: Int?
  /// Time without an answer after which a session of the database counts as lost.
  package var timeout: Duration

  package init(
    database: String, password: String? = nil, root: String = "kiosk",
    clientID: String = "juice-archive", batch: Int = 5000,
    sessionExpiry: Duration = .seconds(2_592_000), gapDelay: Duration = .seconds(60),
    timeZone: String = "UTC", keepDays: Int? = nil, timeout: Duration = .seconds(60)
  ) {
    self.database = database
    self.password = password
    self.root = root
    self.clientID = clientID
    self.batch = batch
    self.sessionExpiry = sessionExpiry
    self.gapDelay = gapDelay
    self.timeZone = timeZone
    self.keepDays = keepDays
    self.timeout = timeout
  }
}
