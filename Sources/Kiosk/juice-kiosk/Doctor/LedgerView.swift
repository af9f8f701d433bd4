import CommandLineSupport
import Foundation
import JuiceDomain
import KioskCore
import KioskProtocol
import Ledger

/// The facts that the doctor reads from the ledger and its lock file: the recorded state, the
/// latest entries, and whether a kiosk runs.
struct LedgerView {
  var lockHolder = KioskLedger.LockHolder.unlocked(lastHeartbeat: nil)
  var state = LedgerState()
  var lastEntry: Timestamp?
  /// The latest time among the last `examinedEntries` entries.
  var latestTime: Timestamp?
  /// Number of entries that are not confirmed upstream, or `nil` without a readable ledger.
  var waiting: Int?
  /// Names of the sources of orders among the last `examinedEntries` entries.
  var panels: Set<String> = []

  private static let examinedEntries = 5000

  var isRunning: Bool { if case .kiosk = lockHolder { true } else { false } }

  /// Returns the time since a kiosk was last online, or `nil` if a kiosk runs or the lock file has no
  /// heartbeat.
  func absence(at now: Timestamp) -> Duration? {
    guard case .unlocked(let lastHeartbeat?) = lockHolder else { return nil }
    return now.since(lastHeartbeat)
  }

  /// Reads the ledger, and returns the findings about it.
  mutating func read(_ path: String) -> [Finding] {
    do throws(LedgerError) {
      lockHolder = try KioskLedger.lockHolder(of: path)
      try KioskLedger.refuseNewLedger(at: path)
      guard FileManager.default.fileExists(atPath: path) else {
        return [.note(.ledger, path, "there is none yet: the kiosk creates it at its first start")]
      }
      let ledger = try KioskLedger(path: path, readOnly: true)
      state = try ledger.state()
      waiting = state.seq - (try ledger.uplinked())
      for (row, _, _) in try ledger.rows(
        after: state.seq - Self.examinedEntries, limit: Self.examinedEntries)
      {
        lastEntry = row.entry.at
        latestTime = max(row.entry.at, latestTime ?? row.entry.at)
        if let source = row.entry.source, source.kind == .order { panels.insert(source.name) }
      }
      return [.ok(.ledger, path, "\(state.seq) entries; \(occupantText)")]
    } catch {
      return [
        .error(
          .ledger, path, "\(error)", fix: "follow the message; then: juice-kiosk ledger verify",
          status: error.failure.status)
      ]
    }
  }

  private var occupantText: String {
    switch lockHolder {
    case .kiosk(let process?): "a kiosk runs, as process \(process)"
    case .kiosk(nil): "a kiosk runs"
    case .unlocked(let lastHeartbeat?): "no kiosk runs; the last one was online at \(lastHeartbeat)"
    case .unlocked(nil): "no kiosk runs"
    }
  }
}
