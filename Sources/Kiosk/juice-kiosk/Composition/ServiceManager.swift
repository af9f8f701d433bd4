import CommandLineSupport
import Foundation
import KioskDaemon
import KioskProtocol
import Synchronization

/// systemd, which has started the kiosk as a service of `Type=notify` (sd_notify(3)).
///
/// systemd is told when orders are taken, how the kiosk is (in words), and with the turns of the cycle that
/// nothing hangs. It restarts a kiosk that hangs, but not one that waits for its broker.
final class ServiceManager: Sendable {
  private struct Reported {
    var condition: KioskCondition?
    var isReady = false
    var lastWatchdogAt: ContinuousClock.Instant?
  }

  private let socket: NotifySocket
  /// How long systemd waits for a sign of life (`WatchdogSec=`).
  private let watchdogTimeout: Duration?
  private let reported = Mutex(Reported())

  /// - Returns: `nil` if systemd has not started the program as such a service.
  init?(environment: [String: String] = ProcessInfo.processInfo.environment) {
    guard let socket = NotifySocket(environment: environment) else { return nil }
    self.socket = socket
    watchdogTimeout = environment["WATCHDOG_USEC"].flatMap(Int64.init).map { .microseconds($0) }
  }

  /// To be called at the end of each turn of the cycle.
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
        // systemd does not give up the start either, as long as the cycle turns.
        if !next.isReady { lines.append("EXTEND_TIMEOUT_USEC=\(watchdogTimeout.microseconds)") }
      }
      // If systemd could not be told, the next turn tells it.
      if !lines.isEmpty, send(lines.joined(separator: "\n")) { reported = next }
    }
  }

  /// Tells that a reload begins: the service counts as reloading until `endReload()`. A service that has
  /// never been ready still counts as starting.
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
      // If systemd could not be told, the next turn tells it.
      if reported.isReady { reported.isReady = send("READY=1") }
    }
  }

  private func send(_ text: String) -> Bool { socket.send(text) }
}

extension KioskCondition {
  /// One line, for a person.
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
