import CommandLineSupport
import Foundation
import KioskDaemon
import KioskProtocol
import Synchronization

/// Reports the kiosk's state to systemd, for a service of `Type=notify` (sd_notify(3)).
///
/// It reports readiness, a status line, and a watchdog signal from the cycle. systemd restarts a
/// kiosk whose cycle hangs, but not a kiosk without a connection to its broker.
final class ServiceManager: Sendable {
  private struct Reported {
    var condition: KioskCondition?
    var isReady = false
    var lastWatchdogAt: ContinuousClock.Instant?
  }

  private let socket: NotifySocket
  /// The time without a watchdog signal after which systemd restarts the service (`WatchdogSec=`),
  /// or `nil` if the service has no watchdog.
  private let watchdogTimeout: Duration?
  private let reported = Mutex(Reported())

  /// Creates the reporter from the environment.
  ///
  /// - Returns: `nil` if systemd has not started the program as a service of `Type=notify`.
  init?(environment: [String: String] = ProcessInfo.processInfo.environment) {
    guard let socket = NotifySocket(environment: environment) else { return nil }
    self.socket = socket
    watchdogTimeout = environment["WATCHDOG_USEC"].flatMap(Int64.init).map { .microseconds($0) }
  }

  /// Reports the condition if it has changed, and a watchdog signal each quarter of the timeout.
  /// `Controller.run` calls this method at its start, after each turn of its loop, and before its end.
  func report(_ condition: KioskCondition) {
    reported.withLock { reported in
      var next = reported
      var lines: [String] = []
      if condition != reported.condition {
        next.condition = condition
        lines.append("STATUS=\(condition.summary)")
        if condition == .stopping { lines.append("STOPPING=1") }
      }
      if case .online = condition, !reported.isReady {
        next.isReady = true
        lines.append("READY=1")
      }
      let now = ContinuousClock.now
      if let watchdogTimeout,
        reported.lastWatchdogAt.map({ $0.duration(to: now) >= watchdogTimeout / 4 }) ?? true
      {
        next.lastWatchdogAt = now
        lines.append("WATCHDOG=1")
        // As long as the cycle runs, this line extends the time limit of the start.
        if !next.isReady { lines.append("EXTEND_TIMEOUT_USEC=\(watchdogTimeout.microseconds)") }
      }
      // If sending fails, the next call repeats the report.
      if !lines.isEmpty, send(lines.joined(separator: "\n")) { reported = next }
    }
  }

  /// Reports the start of a reload: systemd shows the service as reloading until `endReload()`. A
  /// service that was never ready remains in its start phase.
  func beginReload() {
    reported.withLock { reported in
      guard reported.isReady else { return }
      var now = timespec()
      clock_gettime(CLOCK_MONOTONIC, &now)
      let microseconds = Int(now.tv_sec) * 1_000_000 + now.tv_nsec / 1000
      _ = send("RELOADING=1\nMONOTONIC_USEC=\(microseconds)")
    }
  }

  func endReload() {
    reported.withLock { reported in
      // If sending fails, the next `report(_:)` of an online kiosk sends READY.
      if reported.isReady { reported.isReady = send("READY=1") }
    }
  }

  private func send(_ text: String) -> Bool { socket.send(text) }
}

extension KioskCondition {
  /// A one-line description for `systemctl status`.
  fileprivate var summary: String {
    switch self {
    case .connecting: "Connecting to the broker."
    case .offline(let error): Self.waiting(for: "\(error)")
    case .failing(let error): Self.waiting(for: "\(error)")
    case .online(.open): "Open: orders are taken."
    case .online(.closed): "Closed: orders are rejected."
    case .stopping: "Stopping."
    }
  }

  private static func waiting(for reason: String) -> String {
    "No orders are taken, \(reason.replacing("\n", with: " ")). Trying again."
  }
}

extension Duration {
  fileprivate var microseconds: Int64 {
    components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
  }
}
