package import JuiceDomain

/// A machine's report on a job: the payload of `made/<machine>`.
package struct MachineAnswer: Hashable, Sendable {
  package let job: Int
  package let status: Status

  package enum Status: Hashable, Sendable {
    case started
    case done
    /// The machine could not make the juice.
    ///
    /// - Parameters:
    ///   - reason: A short text for people.
    ///   - used: The consumed fruit, or `nil` if it is unknown.
    case failed(reason: String, used: FruitAmounts?)
    /// The machine has not begun the job and never will.
    case cancelled
    /// The machine has no result of the job: it has begun a later one, or lost power.
    case unknown

    package var name: String {
      switch self {
      case .started: "started"
      case .done: "done"
      case .failed: "failed"
      case .cancelled: "cancelled"
      case .unknown: "unknown"
      }
    }
  }

  package init(job: Int, status: Status) {
    self.job = job
    self.status = status
  }

  package var payload: [UInt8] { JSONWriter.object { $0.members(self) } }
}

extension JSONWriter {
  mutating func members(_ answer: MachineAnswer) {
    member("job", answer.job)
    member("status", answer.status.name)
    guard case .failed(let reason, let used) = answer.status else { return }
    member("reason", reason)
    if let used { member("used", used) }
  }
}

/// The state of a machine: the retained payload of `machine/<machine>/status`. Its last will is
/// `offline`.
package enum MachineStatus: Hashable, Sendable {
  case online, offline
  /// The machine cannot work, for this reason.
  case fault(String)

  /// Parses `online`, `offline`, `fault` or `fault: paper jam`.
  ///
  /// - Parameter text: The payload; a reason is truncated after 64 Unicode scalars.
  package init?(_ text: String) {
    switch text {
    case "online": self = .online
    case "offline": self = .offline
    default:
      guard text.hasPrefix("fault") else { return nil }
      let rest = text.dropFirst("fault".count)
      guard rest.first.map({ ": ".contains($0) }) ?? true else { return nil }
      self = .fault(String(rest.drop { ": ".contains($0) }).asReason)
    }
  }

  package var text: String {
    switch self {
    case .online: "online"
    case .offline: "offline"
    case .fault(""): "fault"
    case .fault(let reason): "fault: \(reason)"
    }
  }
}

extension String {
  /// The text without control characters, truncated after 64 Unicode scalars.
  var asReason: String {
    String(String.UnicodeScalarView(unicodeScalars.lazy.filter { !$0.isControl }.prefix(64)))
  }
}
