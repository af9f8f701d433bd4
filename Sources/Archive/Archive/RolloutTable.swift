import JuiceDomain
import KioskProtocol
package import Postgres

/// The roll-outs in the database: for whoever decides on them, and for the archiver that carries them out.
/// All times are the database's.
package struct RolloutTable {
  /// How a menu is to come down.
  package struct Plan: Sendable {
    package var menu: String
    /// `nil`: all kiosks.
    package var region: String?
    /// In percent of the kiosks.
    package var first: Double
    package var perMinute: Int
    /// In percent of those that it was sent to.
    package var limit: Double
    /// For how long a kiosk may be silent, in seconds.
    package var timeout: Int

    package init(
      menu: String, region: String?, first: Double, perMinute: Int, limit: Double, timeout: Int
    ) {
      self.menu = menu
      self.region = region
      self.first = first
      self.perMinute = perMinute
      self.limit = limit
      self.timeout = timeout
    }
  }

  /// A kiosk where the menu has failed.
  package struct Failure: Equatable, Sendable {
    package let kiosk: String
    /// `nil`: it is silent.
    package let detail: String?
  }

  private static let hasFailed = "(status = 'refused' OR \(isSilent))"
  private static let isSilent = "status IS NULL AND sent < now() - timeout * interval '1 second'"
  /// In seconds, until a kiosk that has said nothing is sent its menu again.
  private static let resendInterval = 30
  /// So many menus leave in a second, at most.
  private static let maximumPerSecond = 200

  private let database: PostgresConnection

  /// - Parameter database: with its tables.
  init(_ database: PostgresConnection) { self.database = database }

  /// Makes the tables, if there are none yet.
  package init(_ settings: ArchiveSettings) throws(ArchiveError) {
    do throws(DatabaseError) {
      database = try PostgresConnection(settings.database, password: settings.password)
    } catch {
      throw .database(error)
    }
    try ArchiveSchema.migrate(database)
  }

  // MARK: For whoever decides

  /// Begins a roll-out: to the listed kiosks, or if there is no list, to those that have told something.
  ///
  /// - Throws: `RolloutError`, `DatabaseError`.
  package func push(_ plan: Plan) throws -> Rollout {
    let size = DesiredMenu(version: .max, text: plan.menu).payload.count
    guard size <= DesiredMenu.maximumSize else {
      throw RolloutError.tooLarge(size, limit: DesiredMenu.maximumSize)
    }
    try database.run("BEGIN")
    do {
      // Who joins the list now either is a part of it, or finds it there.
      try database.run("LOCK TABLE juice.kiosk IN SHARE MODE")
      if let last = try rollouts().first, last.state.isOpen {
        throw RolloutError.open(version: last.version, last.state)
      }
      let version = try database.run(
        """
        INSERT INTO juice.rollout (menu, region, state, first, per_minute, max_failed, timeout)
        VALUES ($1, $2, 'running', 0, $3, $4, $5) RETURNING version
        """, [plan.menu, plan.region, "\(plan.perMinute)", "\(plan.limit)", "\(plan.timeout)"]
      ).rows[0][0]
      // In an order of no meaning, another one each time, so that the first are a sample of all.
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
      try database.run(
        "UPDATE juice.rollout SET first = ceil($2::float8 * $3 / 100) WHERE version = $1",
        [version, "\(plan.first)", "\(count)"])
      try database.run("COMMIT")
    } catch {
      _ = try? database.run("ROLLBACK")
      throw error
    }
    return try rollout()
  }

  /// - Parameters:
  ///   - limit: a new one.
  ///   - again: kiosks where it has failed are sent the menu anew.
  /// - Throws: `RolloutError`, `DatabaseError`.
  package func decide(
    _ decision: Rollout.Decision, limit: Double? = nil, again: Bool = false
  ) throws -> Rollout {
    try database.run("BEGIN")
    do {
      let version = "\(try rollout().version)"
      // In this order: the archiver has the one while it takes the other.
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
          FROM juice.rollout WHERE rollout.version = $1 AND rollout_kiosk.version = $1 AND \(Self.hasFailed)
          """, [version])
      }
      let state = try rollout().state(after: decision)
      try database.run(
        "UPDATE juice.rollout SET state = $2, changed = now() WHERE version = $1",
        [version, state.rawValue])
      if state == .aborted {
        // Whoever has not said that it has the menu is not waited for.
        try database.run(
          "UPDATE juice.rollout_kiosk SET sent = NULL WHERE version = $1 AND status IS NULL",
          [version])
      }
      try database.run("COMMIT")
    } catch {
      _ = try? database.run("ROLLBACK")
      throw error
    }
    return try rollout()
  }

  /// The latest one.
  ///
  /// - Throws: `RolloutError.none`, `DatabaseError`.
  package func rollout() throws -> Rollout {
    guard let last = try rollouts().first else { throw RolloutError.none }
    return last
  }

  /// The latest first.
  package func rollouts(limit: Int = 1) throws(DatabaseError) -> [Rollout] {
    try database.run(
      """
      SELECT version, state, first, per_minute, max_failed, count(*) FILTER (WHERE sent IS NULL),
        count(*) FILTER (WHERE status IS NULL AND sent >= now() - timeout * interval '1 second'),
        count(*) FILTER (WHERE status = 'taken'), count(*) FILTER (WHERE status = 'refused'),
        count(*) FILTER (WHERE \(Self.isSilent)),
        extract(epoch FROM now() - max(sent))
      FROM (SELECT * FROM juice.rollout ORDER BY version DESC LIMIT \(limit)) rollout
      LEFT JOIN juice.rollout_kiosk USING (version)
      GROUP BY version, state, first, per_minute, max_failed ORDER BY version DESC
      """
    ).rows.compactMap(Rollout.init)
  }

  /// - Returns: the first of the kiosks where the latest one has failed.
  package func failures(of rollout: Rollout, limit: Int) throws(DatabaseError) -> [Failure] {
    try database.run(
      """
      SELECT kiosk, detail FROM juice.rollout_kiosk JOIN juice.rollout USING (version)
      WHERE version = $1 AND \(Self.hasFailed)
      ORDER BY kiosk LIMIT \(limit)
      """, ["\(rollout.version)"]
    ).rows.compactMap { row in row[0].map { Failure(kiosk: $0, detail: row[1]) } }
  }

  // MARK: For the archiver

  /// Carries the roll-out on, as far as it goes now.
  ///
  /// - Returns: what is to be sent, and the roll-out if it has come to an end.
  func proceed() throws(DatabaseError) -> (
    menus: [(kiosk: KioskID, menu: DesiredMenu)], end: Rollout?
  ) {
    try database.transaction { () throws(DatabaseError) in
      var end: Rollout?
      // Whoever decides waits for this, or this for him.
      let isRunning = try database.run(
        "SELECT version FROM juice.rollout WHERE state = 'running' FOR UPDATE")
      if !isRunning.rows.isEmpty, var rollout = try rollouts().first {
        switch rollout.next() {
        case .wait: break
        case .send(let count): try send(rollout.version, count)
        case .become(let state):
          rollout.state = state
          end = rollout
          try database.run(
            "UPDATE juice.rollout SET state = $2, changed = now() WHERE version = $1",
            ["\(rollout.version)", state.rawValue])
        }
      }
      return (try due(), end)
    }
  }

  private func send(_ version: Int, _ count: Int) throws(DatabaseError) {
    try database.run(
      """
      UPDATE juice.rollout_kiosk SET sent = now(), last_sent = '-infinity'
      WHERE version = $1 AND kiosk IN (
        SELECT kiosk FROM juice.rollout_kiosk WHERE version = $1 AND sent IS NULL
        ORDER BY position LIMIT \(count))
      """, ["\(version)"])
  }

  /// What has been sent and not been reported, now and then: of each kiosk the latest.
  private func due() throws(DatabaseError) -> [(kiosk: KioskID, menu: DesiredMenu)] {
    let rows = try database.run(
      """
      UPDATE juice.rollout_kiosk target SET last_sent = now() FROM (
        SELECT version, kiosk FROM juice.rollout_kiosk waiting JOIN juice.rollout USING (version)
        WHERE sent IS NOT NULL AND status IS NULL AND state <> 'aborted'
          AND last_sent < now() - interval '\(Self.resendInterval) seconds'
          AND NOT EXISTS (
            SELECT FROM juice.rollout_kiosk later WHERE later.kiosk = waiting.kiosk
              AND later.version > waiting.version AND later.sent IS NOT NULL)
        ORDER BY last_sent LIMIT \(Self.maximumPerSecond)
      ) due
      WHERE target.version = due.version AND target.kiosk = due.kiosk
      RETURNING target.kiosk, target.version
      """
    ).rows
    var menus: [String: DesiredMenu] = [:]
    var due: [(kiosk: KioskID, menu: DesiredMenu)] = []
    for row in rows {
      guard let kiosk = row[0].flatMap({ KioskID($0) }), let version = row[1],
        let number = Int(version)
      else { continue }
      if menus[version] == nil {
        let text = try database.run(
          "SELECT menu FROM juice.rollout WHERE version = $1", [version]
        ).rows.first?.first
        menus[version] = DesiredMenu(version: number, text: (text ?? "") ?? "")
      }
      if let menu = menus[version] { due.append((kiosk, menu)) }
    }
    return due
  }
}

extension Rollout {
  /// As `RolloutTable.rollouts` asks for it.
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
