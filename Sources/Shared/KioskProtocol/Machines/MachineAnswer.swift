package import JuiceDomain

/// What a machine says of a job: the payload of `made/<machine>`.
package struct MachineAnswer: Hashable, Sendable {
  package let job: Int
  package let status: Status

  package enum Status: Hashable, Sendable {
    case started
    case done
    /// - Parameters:
    ///   - reason: in a word or two, for people.
    ///   - used: the fruit that is gone; `nil` if the machine does not know.
    case failed(reason: String, used: FruitAmounts?)
    /// It was not begun, and never will be.
    case cancelled
    /// The machine has begun a later one, and does not know what became of this one.
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

/// How a machine is: the payload of `machine/<machine>/status`, retained; its last will is `offline`.
package enum MachineStatus: Hashable, Sendable {
  case online, offline
  /// It cannot work, for this reason.
  case fault(String)

  /// `online`, `offline`, `fault` or `fault: paper jam`.
  ///
  /// - Parameter text: as `text` has it; a reason is cut after 64 characters.
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
  /// Without control characters, and not longer than 64.
  var asReason: String {
    String(String.UnicodeScalarView(unicodeScalars.lazy.filter { !$0.isControl }.prefix(64)))
  }
}
