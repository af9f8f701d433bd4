package import JuiceDomain

/// What a machine is doing, as displays and dashboards hear it: the retained payload of
/// `machine/<machine>`.
package struct MachineReport: Hashable, Sendable {
  package var state: State
  /// Of `fault`: what the machine has said.
  package var reason: String?
  /// The orders that wait until the machine takes them.
  package var queue: Int
  /// What it makes; `nil`: all that is on the menu.
  package var juices: [Juice.ID]?
  /// What it has in hand, what waits for it, and what waits for a person; at most `limit`.
  package var jobs: [Job]
  /// The tickets of the juices that it has made last, the latest first; at most `maximumReadyTickets`.
  package var ready: [Int]

  package static let limit = 20
  package static let maximumReadyTickets = 5
  private static let maximumJuices = 1_000

  package enum State: String, Hashable, Sendable {
    case idle, busy, offline, fault
    /// It is online, and does not answer.
    case silent
    /// It has failed three times in a row.
    case failing
    /// Nothing was ever heard of it.
    case unknown

    /// Whether somebody has to look after it.
    package var isProblem: Bool { self != .idle && self != .busy }
  }

  package struct Job: Hashable, Sendable {
    package var job: Int
    package var ticket: Int
    package var juice: Juice.ID
    package var quantity: Int
    package var state: JobState
    /// When it was ordered.
    package var at: Timestamp

    package init(
      job: Int, ticket: Int, juice: Juice.ID, quantity: Int, state: JobState, at: Timestamp
    ) {
      self.job = job
      self.ticket = ticket
      self.juice = juice
      self.quantity = quantity
      self.state = state
      self.at = at
    }
  }

  package init(
    state: State, reason: String? = nil, queue: Int, juices: [Juice.ID]? = nil, jobs: [Job],
    ready: [Int]
  ) {
    self.state = state
    self.reason = reason
    self.queue = queue
    self.juices = juices
    self.jobs = jobs
    self.ready = ready
  }

  /// The job that the machine has in hand, for displays that show one.
  package var current: Job? {
    jobs.first { $0.state == .started } ?? jobs.first { $0.state == .sent }
  }

  /// Whether somebody has to look after the machine, or to decide about a job.
  package var needsAttention: Bool {
    state.isProblem || jobs.contains(where: \.state.isUndecided)
  }

  package func makes(_ juice: Juice.ID) -> Bool { juices?.contains(juice) ?? true }
}

/// How far a job has come.
package enum JobState: String, CaseIterable, Hashable, Sendable {
  /// It waits in the kiosk.
  case queued
  /// The machine has it, or will when it is there: it may have begun.
  case sent
  /// The machine has said that it has begun.
  case started
  /// It was sent to a machine that is away now, and has waited too long: the machine may say what
  /// became of it, or a person.
  case lost
  /// It was begun, and nobody knows what became of it: a person decides.
  case needsDecision = "needs_decision"

  package var isUndecided: Bool { self == .lost || self == .needsDecision }
}

extension MachineReport {
  package var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("state", state.rawValue)
      if let reason { json.member("reason", reason) }
      json.member("queue", queue)
      if let juices { json.member("juices", juices.map(\.text)) }
      if let current {
        json.member("job", current.job)
        json.member("ticket", current.ticket)
      }
      json.member("jobs", jobs) { json, job in
        json.member("job", job.job)
        json.member("ticket", job.ticket)
        json.member("juice", job.juice.text)
        json.member("quantity", job.quantity)
        json.member("state", job.state.rawValue)
        json.member("at", job.at.description)
      }
      json.member("ready", ready)
    }
  }

  /// - Throws: `JSONError` if it is no report of a machine.
  package init(payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    guard let state = json.text("state").flatMap(State.init(rawValue:)),
      let queue = json.integer("queue")
    else { throw JSONError(offset: 0, problem: "state or queue is missing") }
    self.init(
      state: state, reason: json.text("reason")?.asReason, queue: queue,
      juices: json.elements("juices")?.prefix(Self.maximumJuices).compactMap {
        if case .string(let juice) = $0 { Juice.ID(juice) } else { nil }
      },
      jobs: (json.elements("jobs") ?? []).prefix(Self.limit).compactMap(Job.init),
      ready: (json.elements("ready") ?? []).prefix(Self.maximumReadyTickets).compactMap {
        if case .integer(let ticket) = $0 { ticket } else { nil }
      })
  }
}

extension MachineReport.Job {
  fileprivate init?(_ json: JSON) {
    guard let job = json.integer("job"), let ticket = json.integer("ticket"),
      let juice = json.text("juice").flatMap({ Juice.ID($0) }),
      let quantity = json.integer("quantity"),
      let state = json.text("state").flatMap(JobState.init(rawValue:)),
      let at = json.text("at").flatMap(Timestamp.init)
    else { return nil }
    self.init(job: job, ticket: ticket, juice: juice, quantity: quantity, state: state, at: at)
  }
}
