import CoreMetrics
import JuiceDomain
import KioskCore
import KioskProtocol

/// What a metrics backend is told of machines and their jobs.
struct MachineMetrics: Sendable {
  private let cup = Timer(label: "juice_kiosk_cup_duration")
  private var failures: [String: Counter] = [:]
  private let jobs: [JobState: Gauge]
  private var up: [MachineID: Gauge] = [:]
  /// When the orders were accepted of which nothing else is known yet.
  private var accepted: [Int: Timestamp]

  /// Machines say what they like: each reason is a time series of its own.
  private static let maximumReasons = 20
  /// Those of the kiosk itself have their place.
  private static let ownReasons = ["waited_too_long", "given_back"]

  init(_ jobs: Jobs) {
    self.jobs = Dictionary(
      uniqueKeysWithValues: JobState.allCases.map {
        ($0, Gauge(label: "juice_kiosk_jobs", dimensions: [("state", $0.rawValue)]))
      })
    accepted = Dictionary(
      jobs.open.map { ($0.seq, $0.at) }, uniquingKeysWith: { first, _ in first })
    for reason in Self.ownReasons { failures[reason] = Self.counter(reason) }
  }

  private static func counter(_ reason: String) -> Counter {
    Counter(label: "juice_kiosk_failures", dimensions: [("reason", reason)])
  }

  mutating func count(_ entry: LedgerEntry) {
    switch entry.outcome {
    case .accepted: accepted[entry.seq] = entry.at
    case .made(let end):
      guard let start = accepted.removeValue(forKey: end.job) else { return }
      cup.recordMilliseconds(max(0, entry.at.milliseconds - start.milliseconds))
    case .failed(let end, let reason, _), .returned(let end, let reason, _):
      accepted[end.job] = nil
      count(failure: reason)
    // When it was poured nobody knows.
    case .decided(.poured, let job, _): accepted[job] = nil
    default: break
    }
  }

  private mutating func count(failure reason: String) {
    let isFull = failures.count >= Self.maximumReasons + Self.ownReasons.count
    let label = failures[reason] != nil || !isFull ? reason : "other"
    let counter = failures[label] ?? Self.counter(label)
    failures[label] = counter
    counter.increment()
  }

  mutating func update(_ jobs: Jobs) {
    for (state, gauge) in self.jobs { gauge.record(jobs.open.count { $0.state == state }) }
    let reports = jobs.reports
    for (machine, gauge) in up where !reports.contains(where: { $0.machine == machine }) {
      gauge.destroy()
      up[machine] = nil
    }
    for (machine, report) in reports {
      let gauge =
        up[machine]
        ?? Gauge(label: "juice_kiosk_machine_up", dimensions: [("machine", machine.text)])
      up[machine] = gauge
      gauge.record(report.state.isProblem ? 0 : 1)
    }
  }
}
