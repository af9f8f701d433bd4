import KioskProtocol
package import Postgres

/// The rollouts of menus in the database. The commands of `juice-archive fleet` write decisions;
/// the active archiver executes them. All times are by the clock of the database.
///
/// ```swift
/// // fleet push
/// let table = try RolloutTable(settings)
/// try table.push(
///   RolloutTable.Plan(
///     menu: yaml, file: "menu.yaml", region: "Seoul", first: 5, perMinute: 60, limit: 5,
///     timeout: 300))
/// // fleet pause, fleet resume --limit 10
/// try table.decide(.pause)
/// try table.decide(.resume, limit: 10)
/// // The archiver, once a second
/// let (menus, end) = try table.proceed()
/// ```
package struct RolloutTable {
  /// The parameters of a rollout.
  package struct Plan: Sendable {
    package var menu: String
    /// The path of the menu's file, for error messages.
    package var file: String
    /// The region whose kiosks get the menu, or `nil` for all kiosks.
    package var region: String?
    /// Share of the kiosks that get the menu first, in percent.
    package var first: Double
    package var perMinute: Int
    /// Maximum share of failed kiosks, in percent of the kiosks that were sent the menu.
    package var limit: Double
    /// Time after which a kiosk that has not reported counts as failed, in seconds.
    package var timeout: Int

    package init(
      menu: String, file: String, region: String?, first: Double, perMinute: Int, limit: Double,
      timeout: Int
    ) {
      self.menu = menu
      self.file = file
      self.region = region
      self.first = first
      self.perMinute = perMinute
      self.limit = limit
      self.timeout = timeout
    }
  }

  /// A kiosk at which the rollout has failed.
  package struct Failure: Equatable, Sendable {
    package let kiosk: String
    /// The text of the kiosk's refusal, or `nil` if it has not reported within the timeout.
    package let detail: String?
  }

  private static let failed = "result IN ('refused', 'silent')"
  /// The highest version that a kiosk may report: the next version is higher than each of these,
  /// because a kiosk refuses a lower version than its own, also after the database was lost.
  private static let maximumVersion = 1_000_000_000

  let database: PostgresConnection

  /// Uses a connection to a migrated database.
  init(_ database: PostgresConnection) { self.database = database }

  /// Connects to the database.
  ///
  /// - Parameter tolerance: See `ArchiveSchema.check`.
  /// - Throws: `ArchiveError` if the database is not reachable or has another schema.
  package init(
    _ settings: ArchiveSettings, newerBy tolerance: Int = 0
  ) throws(ArchiveError) {
    do throws(DatabaseError) {
      database = try PostgresConnection(
        settings.database, password: settings.password, timeout: settings.timeout)
    } catch {
      throw .database(error)
    }
    try ArchiveSchema.check(database, newerBy: tolerance)
  }

  /// Starts a rollout to the listed kiosks (of the region, if any); without list and region, to all
  /// kiosks with a ledger. Aborts the previous rollout if it was stopped automatically.
  ///
  /// - Returns: The rollout, and the kiosks that will refuse the menu.
  /// - Throws: `ConfigurationErrors` if the menu is invalid for every kiosk; `RolloutError`,
  ///   `DatabaseError`.
  package func push(_ plan: Plan) throws -> (rollout: Rollout, misfits: [Misfit]) {
    try plan.check(fruits: nil)
    let size = DesiredMenu(version: .max, text: plan.menu).payload.count
    guard size <= DesiredMenu.maximumSize else {
      throw RolloutError.tooLarge(size, limit: DesiredMenu.maximumSize)
    }
    var misfits: [Misfit] = []
    try database.run("BEGIN")
    do {
      // A kiosk that is added to the list concurrently is either part of this rollout or joins it
      // when added.
      try database.run("LOCK TABLE juice.kiosk IN SHARE MODE")
      if let last = try rollouts().first {
        guard !last.state.isOpen else { throw RolloutError.open(version: last.version, last.state) }
        if last.state == .stopped { try end("\(last.version)", as: .aborted) }
      }
      let version = try database.run(
        """
        INSERT INTO juice.rollout (version, menu, region, state, first, per_minute, max_failed, timeout)
        SELECT 1 + greatest(
          (SELECT max(version) FROM juice.rollout),
          (SELECT max(version) FROM juice.kiosk_menu WHERE version <= \(Self.maximumVersion)), 0),
          $1, $2, 'running', 0, $3, $4, $5 RETURNING version
        """, [plan.menu, plan.region, "\(plan.perMinute)", "\(plan.limit)", "\(plan.timeout)"]
      ).rows[0][0]
      // The order is pseudorandom and differs for each version, so that the first kiosks are a
      // sample.
      let count = try database.run(
        """
        INSERT INTO juice.rollout_kiosk (version, kiosk, position)
        SELECT $1::bigint, kiosk, row_number() OVER (ORDER BY md5($1 || '/' || kiosk)) FROM (
          SELECT kiosk FROM juice.kiosk WHERE $2::text IS NULL OR region = $2
          UNION SELECT kiosk FROM juice.ledger
          WHERE $2::text IS NULL AND NOT EXISTS (SELECT FROM juice.kiosk)
        ) target
        """, [version, plan.region]
      ).count
      guard count > 0 else { throw RolloutError.noKiosks(region: plan.region) }
      misfits = try self.misfits(of: plan, version: version)
      let refusing = misfits.reduce(0) { $0 + $1.count }
      guard Double(refusing) * 100 <= plan.limit * Double(count) else {
        throw RolloutError.doesNotFit(misfits, of: count, limit: plan.limit)
      }
      try database.run(
        "UPDATE juice.rollout SET first = ceil($2::float8 * $3 / 100) WHERE version = $1",
        [version, "\(plan.first)", "\(count)"])
      try database.run("COMMIT")
    } catch {
      // Fails only without a connection; then PostgreSQL rolls back by itself.
      _ = try? database.run("ROLLBACK")
      throw error
    }
    return (try rollout(), misfits)
  }

  /// Executes a decision on the latest rollout.
  ///
  /// - Parameters:
  ///   - limit: A new maximum share of failed kiosks, in percent, or `nil` to keep the current one.
  ///   - again: Whether the menu is sent again to the kiosks that have failed.
  /// - Throws: `RolloutError`, `DatabaseError`.
  package func decide(
    _ decision: Rollout.Decision, limit: Double? = nil, again: Bool = false
  ) throws -> Rollout {
    try database.run("BEGIN")
    do {
      let version = "\(try rollout().version)"
      // The lock order of the archiver, which avoids a deadlock: the row, then the table.
      try database.run("SELECT FROM juice.rollout WHERE version = $1 FOR UPDATE", [version])
      try database.run("LOCK TABLE juice.rollout_kiosk IN SHARE ROW EXCLUSIVE MODE")
      if let limit {
        try database.run(
          "UPDATE juice.rollout SET max_failed = $2 WHERE version = $1", [version, "\(limit)"])
      }
      if again {
        try database.run(
          """
          UPDATE juice.rollout_kiosk SET sent = NULL, status = NULL, detail = NULL
          WHERE version = $1 AND kiosk IN (
            SELECT kiosk FROM juice.rollout_result WHERE version = $1 AND \(Self.failed))
          """, [version])
      }
      if decision == .resume {
        // A rollout that was aborted begins again for kiosks that have not reported on its menu.
        try database.run(
          """
          UPDATE juice.rollout_kiosk SET sent = NULL
          WHERE version = $1 AND status IS NULL AND last_sent IS NULL
          """, [version])
      }
      try end(version, as: rollout().state(after: decision))
      try database.run("COMMIT")
    } catch {
      // Fails only without a connection; then PostgreSQL rolls back by itself.
      _ = try? database.run("ROLLBACK")
      throw error
    }
    return try rollout()
  }

  /// Changes the state of a rollout. An aborted rollout keeps the time at which the menu was sent
  /// to each kiosk; until the rollout is resumed, the archiver sends the menu to no kiosk.
  func end(_ version: String, as state: Rollout.State) throws(DatabaseError) {
    try database.run(
      "UPDATE juice.rollout SET state = $2, changed = now() WHERE version = $1",
      [version, state.rawValue])
    guard state == .aborted else { return }
    try database.run(
      "UPDATE juice.rollout_kiosk SET last_sent = NULL WHERE version = $1 AND status IS NULL",
      [version])
  }

  /// Returns the latest rollout.
  ///
  /// - Throws: `RolloutError.none`, `DatabaseError`.
  package func rollout() throws -> Rollout {
    guard let last = try rollouts().first else { throw RolloutError.none }
    return last
  }

  /// Returns up to `limit` rollouts, the latest first.
  package func rollouts(limit: Int = 1) throws(DatabaseError) -> [Rollout] {
    try database.run(
      """
      SELECT version, state, first, per_minute, max_failed, count(*) FILTER (WHERE result = 'unsent'),
        count(*) FILTER (WHERE result IN ('waiting', 'lost')), count(*) FILTER (WHERE result = 'taken'),
        count(*) FILTER (WHERE result = 'refused'), count(*) FILTER (WHERE result = 'silent'),
        extract(epoch FROM now() - max(sent))
      FROM (SELECT * FROM juice.rollout ORDER BY version DESC LIMIT \(limit)) rollout
      LEFT JOIN juice.rollout_result USING (version)
      GROUP BY version, state, first, per_minute, max_failed ORDER BY version DESC
      """
    ).rows.compactMap(Rollout.init)
  }

  /// Returns up to `limit` kiosks that sell by their own menus although the chain has sent one,
  /// sorted by id, and the number of all of them.
  package func ownMenus(limit: Int) throws(DatabaseError) -> (kiosks: [Failure], count: Int) {
    let rows = try database.run(
      "SELECT kiosk, detail, count(*) OVER () FROM juice.own_menu ORDER BY kiosk LIMIT \(max(1, limit))"
    ).rows
    let count = rows.first?[2].flatMap { Int($0) } ?? 0
    let kiosks = rows.prefix(limit).compactMap { row in
      row[0].map { Failure(kiosk: $0, detail: row[1]) }
    }
    return (kiosks, count)
  }

  /// Returns up to `limit` kiosks at which the rollout has failed, sorted by id.
  package func failures(of rollout: Rollout, limit: Int) throws(DatabaseError) -> [Failure] {
    try database.run(
      """
      SELECT kiosk, detail FROM juice.rollout_result WHERE version = $1 AND \(Self.failed)
      ORDER BY kiosk LIMIT \(limit)
      """, ["\(rollout.version)"]
    ).rows.compactMap { row in row[0].map { Failure(kiosk: $0, detail: row[1]) } }
  }
}

extension Rollout {
  /// Creates a rollout from a row of the query in `RolloutTable.rollouts`.
  fileprivate init?(_ row: [String?]) {
    let numbers = row.map { $0.flatMap(Int.init) }
    guard let version = numbers[0], let state = row[1].flatMap(State.init), let first = numbers[2],
      let perMinute = numbers[3], let limit = row[4].flatMap(Double.init)
    else { return nil }
    self.init(
      version: version, state: state, first: first, perMinute: perMinute, limit: limit,
      counts: Counts(
        unsent: numbers[5] ?? 0, waiting: numbers[6] ?? 0, taken: numbers[7] ?? 0,
        refused: numbers[8] ?? 0, silent: numbers[9] ?? 0),
      sinceLast: row[10].flatMap(Double.init))
  }
}
