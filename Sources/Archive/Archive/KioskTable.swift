import JuiceDomain
package import KioskProtocol
package import Postgres

/// The list of the chain's kiosks in the database.
package struct KioskTable {
  /// The numbers of kiosks that a new list adds, changes and removes.
  package struct Changes: Equatable {
    package var added = 0
    package var changed = 0
    package var removed = 0
  }

  private let database: PostgresConnection

  /// Connects to the database.
  ///
  /// - Parameter tolerance: See `ArchiveSchema.check`.
  /// - Throws: `ArchiveError` if the database is not reachable or has another schema.
  package init(
    _ settings: ArchiveSettings, newerBy tolerance: Int = 0
  ) throws(ArchiveError) {
    database = try RolloutTable(settings, newerBy: tolerance).database
  }

  /// Replaces the list in one transaction. The archive keeps the events and the sums of a
  /// kiosk that the new list lacks. A new kiosk joins the unfinished rollout. It also gets the menu of the latest
  /// completed rollout for its region, in case the unfinished one is aborted.
  package func load(_ kiosks: [ListedKiosk]) throws(DatabaseError) -> Changes {
    var text = CopyText()
    for kiosk in kiosks {
      text.field(kiosk.id.text)
      text.field(kiosk.region)
      text.field(kiosk.name)
      text.field(kiosk.place)
      text.endRow()
    }
    return try database.transaction { () throws(DatabaseError) in
      try database.run(
        """
        LOCK TABLE juice.kiosk IN SHARE ROW EXCLUSIVE MODE;
        CREATE TEMP TABLE listed (LIKE juice.kiosk) ON COMMIT DROP
        """)
      try database.copy("COPY listed (kiosk, region, name, place) FROM STDIN", text.bytes)
      let removed = try database.run(
        """
        WITH gone AS (
          DELETE FROM juice.kiosk WHERE NOT EXISTS (SELECT FROM listed WHERE listed.kiosk = kiosk.kiosk)
          RETURNING kiosk
        ), kept AS (
          INSERT INTO juice.former_kiosk SELECT kiosk FROM gone ON CONFLICT DO NOTHING
        ) SELECT FROM gone
        """
      ).count
      try database.run(
        "DELETE FROM juice.former_kiosk WHERE kiosk IN (SELECT kiosk FROM listed)")
      let changed = try database.run(
        """
        UPDATE juice.kiosk SET region = listed.region, name = listed.name, place = listed.place
        FROM listed WHERE listed.kiosk = kiosk.kiosk AND (listed.region, listed.name, listed.place)
          IS DISTINCT FROM (kiosk.region, kiosk.name, kiosk.place)
        """
      ).count
      // Prevents a running rollout from ending in the meantime.
      try database.run("SELECT FROM juice.rollout FOR SHARE")
      let added = try database.run(
        """
        WITH added AS (
          INSERT INTO juice.kiosk (kiosk, region, name, place)
          SELECT kiosk, region, name, place FROM listed ON CONFLICT DO NOTHING RETURNING kiosk, region
        ), joined AS (
          INSERT INTO juice.rollout_kiosk (version, kiosk, position, sent, last_sent)
          SELECT version, kiosk, behind, CASE state WHEN 'done' THEN now() END, '-infinity'
          FROM added CROSS JOIN LATERAL (
            SELECT DISTINCT ON (state = 'done') version, state,
              (SELECT max(position) + 1 FROM juice.rollout_kiosk other WHERE other.version = rollout.version) AS behind
            FROM juice.rollout WHERE state <> 'aborted' AND coalesce(rollout.region, added.region) = added.region
            ORDER BY state = 'done', version DESC
          ) latest
          ON CONFLICT DO NOTHING
        ) SELECT 1 FROM added
        """
      ).count
      return Changes(added: added, changed: changed, removed: removed)
    }
  }

  /// Returns the kiosks, sorted by region and id.
  package func list() throws(DatabaseError) -> [ListedKiosk] {
    try database.run("SELECT kiosk, region, name, place FROM juice.kiosk ORDER BY region, kiosk")
      .rows.compactMap { row in
        guard let id = row[0].flatMap({ KioskID($0) }), let region = row[1] else { return nil }
        return ListedKiosk(id: id, region: region, name: row[2], place: row[3])
      }
  }
}
