import JuiceDomain
import KioskProtocol
import Postgres

/// The steps of rollouts, which the active archiver executes.
extension RolloutTable {
  /// Time until the menu is sent again to a kiosk that has not reported, in seconds.
  private static let resendInterval = 30
  /// Time after an outage in which a kiosk reports, in seconds: it connects within 30, subscribes
  /// within another 60, and gets the menu again within `resendInterval`.
  private static let reconnectTime = 90 + resendInterval
  /// Maximum number of menus sent per call of `proceed()`, which the archiver calls once a second.
  private static let maximumPerSecond = 200

  /// Extends the time to report in open rollouts, because no kiosk could report during an outage of
  /// the broker: to at least `reconnectTime` from now, or to the timeout if that is shorter.
  func extendTimeouts() throws(DatabaseError) {
    try database.run(
      """
      UPDATE juice.rollout_kiosk waiting
      SET sent = greatest(sent, now() - greatest(timeout - \(Self.reconnectTime), 0) * interval '1 second')
      FROM juice.rollout WHERE rollout.version = waiting.version AND state IN ('running', 'paused')
        AND sent IS NOT NULL AND status IS NULL
      """)
  }

  /// Executes the next step of the running rollout.
  ///
  /// - Returns: The due menus of all rollouts, and the rollout if the step stopped or completed it.
  func proceed() throws(DatabaseError) -> (
    menus: [(kiosk: KioskID, menu: DesiredMenu)], end: Rollout?
  ) {
    try database.transaction { () throws(DatabaseError) in
      var end: Rollout?
      // `decide` and this function exclude each other by this row lock.
      let isRunning = try database.run(
        "SELECT version FROM juice.rollout WHERE state = 'running' FOR UPDATE")
      if !isRunning.rows.isEmpty, var rollout = try rollouts().first {
        switch rollout.next() {
        case .wait: break
        case .send(let count, let rest): try send(rollout.version, count, rest: rest)
        case .become(let state):
          rollout.state = state
          end = rollout
          try self.end("\(rollout.version)", as: state)
        }
      }
      return (try due(), end)
    }
  }

  private func send(_ version: Int, _ count: Int, rest: Double) throws(DatabaseError) {
    try database.run(
      """
      UPDATE juice.rollout_kiosk
      SET sent = now() - \(rest) * interval '1 second', last_sent = '-infinity'
      WHERE version = $1 AND kiosk IN (
        SELECT kiosk FROM juice.rollout_kiosk WHERE version = $1 AND sent IS NULL
        ORDER BY position LIMIT \(count))
      """, ["\(version)"])
  }

  /// Returns the menus to send now, for the first time or again, and records them as sent. A kiosk
  /// gets a menu until it reports on that menu, unless a later one was sent and not aborted.
  private func due() throws(DatabaseError) -> [(kiosk: KioskID, menu: DesiredMenu)] {
    let rows = try database.run(
      """
      UPDATE juice.rollout_kiosk target SET last_sent = now() FROM (
        SELECT version, kiosk FROM juice.rollout_kiosk waiting
        WHERE sent IS NOT NULL AND status IS NULL
          AND last_sent < now() - interval '\(Self.resendInterval) seconds'
          AND NOT EXISTS (
            SELECT FROM juice.rollout_kiosk later WHERE later.kiosk = waiting.kiosk
              AND later.version > waiting.version AND later.sent IS NOT NULL
              AND (later.last_sent IS NOT NULL OR later.status IS NOT NULL))
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
