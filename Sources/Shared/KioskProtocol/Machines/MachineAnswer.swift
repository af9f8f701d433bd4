package import JuiceDomain

/// A machine's answer about a job: the payload of `made/<machine>`.
package struct MachineAnswer: Hashable, Sendable {
  package let job: Int
  package let status: Status

  package enum Status: Hashable, Sendable {
    case started
    /// The machine has the job, but cannot continue without a person. The reason is, for example, a
    /// missing cup.
    case waiting(reason: String)
    case done
    /// The machine could not make the juice.
    ///
    /// - Parameters:
    ///   - reason: A short text for people.
    ///   - used: The consumed fruit, or `nil` if it is unknown.
    ///   - made: The number of glasses that were made before the failure, for which the customer
    ///     pays.
    case failed(reason: String, used: FruitAmounts?, made: Int = 0)
    /// The machine has not begun the job and will not begin it.
    case cancelled
    /// The machine has no result of the job: it has begun a later one, or lost power.
    case unknown

    package var name: String {
      switch self {
      case .started: "started"
      case .waiting: "waiting"
      case .done: "done"
      case .failed: "failed"
      case .cancelled: "cancelled"
      case .unknown: "unknown"
      }
    }
  }

  package var payload: [UInt8] { JSONWriter.object { $0.members(self) } }
}

extension FruitAmounts {
  /// Returns the amounts that an attempt cannot have used: those below 0 or above `taken`.
  package func impossible(for taken: FruitAmounts) -> FruitAmounts {
    FruitAmounts(filter { !(0...(taken[$0.fruit] ?? 0)).contains($0.amount) })
  }
}

extension JSONWriter {
  mutating func members(_ answer: MachineAnswer) {
    member("job", answer.job)
    member("status", answer.status.name)
    switch answer.status {
    case .waiting(let reason): member("reason", reason)
    case .failed(let reason, let used, let made):
      member("reason", reason)
      if let used { member("used", used) }
      if made > 0 { member("made", made) }
    case .started, .done, .cancelled, .unknown: break
    }
  }
}

/// The status of a machine: the retained payload of `machine/<machine>/status`. The will of the
/// machine's connection is `offline`.
package enum MachineStatus: Hashable, Sendable {
  case online, offline
  /// The machine cannot work, for this reason.
  case fault(String)
  /// The machine works, but has none of these fruits.
  case out(Set<Fruit.ID>)

  /// Whether the machine can work.
  package var isOnline: Bool {
    switch self {
    case .online, .out: true
    case .offline, .fault: false
    }
  }

  /// The fruits that the machine does not have.
  package var missingFruits: Set<Fruit.ID> {
    if case .out(let fruits) = self { fruits } else { [] }
  }

  /// Parses `online`, `offline`, `fault`, `fault: paper jam` or `{"out":["kiwi"]}`, or returns
  /// `nil` for any other text.
  ///
  /// - Parameter text: The payload; a reason is truncated after 64 Unicode scalars.
  package init?(_ text: String) {
    switch text {
    case "online": self = .online
    case "offline": self = .offline
    default:
      if text.hasPrefix("{") {
        guard let json = try? JSON.parse(Array(text.utf8)), let out = json.elements("out") else {
          return nil
        }
        let fruits = out.compactMap { if case .string(let id) = $0 { Fruit.ID(id) } else { nil } }
        guard fruits.count == out.count else { return nil }
        self = fruits.isEmpty ? .online : .out(Set(fruits))
        return
      }
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
    case .out(let fruits):
      String(
        decoding: JSONWriter.object { $0.member("out", fruits.map(\.text).sorted()) },
        as: UTF8.self)
    }
  }
}

extension MachineStatus: LosslessStringConvertible, MemberValue {
  package var description: String { text }
}

extension String {
  /// The text as a reason: without invisible characters, truncated after 64 Unicode scalars.
  var asReason: String { visible(upTo: 64) }
}
