package import JuiceDomain

/// The state of a machine for displays and dashboards: the retained payload of `machine/<machine>`.
package struct MachineReport: Hashable, Sendable {
  package var state: State
  /// The reason for `fault` or `waiting`: a text of the machine, or `blocked by a sensor`.
  package var reason: String?
  /// The fruits that the machine does not have.
  package var out: [Fruit.ID]
  /// The number of orders that the kiosk has not sent to the machine yet.
  package var queue: Int
  /// The juices that the machine makes, or `nil` for the whole menu.
  package var juices: [Juice.ID]?
  /// The machine's open orders: in progress, queued or undecided; at most `limit`.
  package var jobs: [Job]
  /// The tickets of the last orders that the machine has made, the latest first; at most `maximumReadyTickets`.
  package var ready: [Int]

  /// The machine's configured programs.
  package var programs: [Program]

  package static let limit = 20
  package static let maximumReadyTickets = 5
  private static let maximumJuices = 1_000

  package enum State: String, Hashable, Sendable {
    case idle, busy, offline, fault
    /// A job waits for a person, for example to put a cup into the machine.
    case waiting
    /// A program runs.
    case cleaning
    /// The machine takes no orders: its cleaning is overdue, or a program needs a decision.
    case cleaningDue = "cleaning_due"
    /// The machine is online but does not answer.
    case silent
    /// The machine has failed three times in a row.
    case failing
    /// The owner has disabled the machine, or removed it from the configuration.
    case disabled
    /// The machine has never reported its state.
    case unknown

    /// Whether a machine in this state cannot take orders.
    package var isProblem: Bool {
      switch self {
      case .idle, .busy, .waiting, .cleaning: false
      case .offline, .fault, .cleaningDue, .silent, .failing, .disabled, .unknown: true
      }
    }
  }

  package struct Job: Hashable, Sendable {
    /// The number of the order's entry.
    package var job: Int
    /// The number of the attempt. The machine's answers and a person's decision identify the job by
    /// this number.
    package var attempt: Int
    package var ticket: Int
    package var juice: Juice.ID
    package var quantity: Int
    package var state: JobState
    /// The time of the order, of the hold of its payment, or of the decision `again`.
    package var at: Timestamp
    /// The reason why the job waits for a person, or `nil` if it does not wait.
    package var waiting: String?

    package init(
      job: Int, attempt: Int, ticket: Int, juice: Juice.ID, quantity: Int, state: JobState,
      at: Timestamp, waiting: String? = nil
    ) {
      self.job = job
      self.attempt = attempt
      self.ticket = ticket
      self.juice = juice
      self.quantity = quantity
      self.state = state
      self.at = at
      self.waiting = waiting
    }
  }

  /// A program of the machine, with its open job if there is one.
  package struct Program: Hashable, Sendable {
    package var program: MachineProgram
    /// The time at which the program was last done, or `nil` if it was never done.
    package var last: Timestamp?
    /// The time at which the program became or will become due, or `nil` if no time is known.
    package var dueAt: Timestamp?
    /// The number of glasses until the program is due, or `nil` if it does not depend on glasses.
    package var glassesLeft: Int?
    /// The reason why the program is due, or `nil` if it is not.
    package var due: MachineProgram.Cause?
    /// Whether the machine takes no orders until the program is done.
    package var isOverdue = false
    /// Whether a person must start the program, because the kiosk does not.
    package var isManual = false
    /// The fruit that is missing for the program.
    package var missing: FruitAmounts?
    /// The number of the open job, which the decision of a person uses; or `nil` if there is none.
    package var job: Int?
    package var state: JobState?
    /// The reason why the program waits for a person, or `nil` if it does not wait.
    package var waiting: String?

    package init(_ program: MachineProgram) { self.program = program }

    package var needsAttention: Bool {
      isOverdue || due != nil && (isManual || missing != nil) || state?.isUndecided == true
    }
  }

  package init(
    state: State, reason: String? = nil, out: [Fruit.ID] = [], queue: Int,
    juices: [Juice.ID]? = nil, jobs: [Job], ready: [Int], programs: [Program] = []
  ) {
    self.state = state
    self.reason = reason
    self.out = out
    self.queue = queue
    self.juices = juices
    self.jobs = jobs
    self.ready = ready
    self.programs = programs
  }

  /// The first started job, or else the first sent job; for displays that show only one job.
  package var current: Job? {
    jobs.first { $0.state == .started } ?? jobs.first { $0.state == .sent }
  }

  /// Whether the machine cannot take orders or lacks fruit, or a program needs a person.
  var isFaulty: Bool {
    state.isProblem || !out.isEmpty || programs.contains(where: \.needsAttention)
  }

  /// Whether the machine is faulty, or the machine or an order waits for a person.
  package var needsAttention: Bool {
    isFaulty || state == .waiting || jobs.contains(where: \.state.isUndecided)
  }

  /// Whether the machine works and takes orders.
  package var takesOrders: Bool {
    !state.isProblem
      && !programs.contains { $0.isOverdue || $0.state?.isUndecided == true }
  }

  package func makes(_ juice: Juice.ID) -> Bool { juices?.contains(juice) ?? true }
}

/// The progress of a job.
package enum JobState: String, CaseIterable, Hashable, Sendable {
  /// The kiosk has not sent the job yet.
  case queued
  /// The kiosk has sent the job to the machine. The machine may have begun the job.
  case sent
  /// The machine has reported that it began the job.
  case started
  /// The machine has not answered the job, which has exceeded the maximum age of orders. Either the
  /// machine reports the result, or a person decides.
  case lost
  /// The machine cannot report a valid result, or has exceeded the time limit: a person may decide.
  case needsDecision = "needs_decision"

  package var isUndecided: Bool { self == .lost || self == .needsDecision }
}

extension MachineReport: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    state = try members.required("state", \.state)
    reason = members.optional("reason", \.reason)?.asReason
    out = members.identifiers("out", \.out, upTo: Self.maximumJuices)
    queue = try members.required("queue", \.queue)
    juices = members.identifiers("juices", \.juices, upTo: Self.maximumJuices)
    members.writes("job") { $0.current?.job }
    members.writes("ticket") { $0.current?.ticket }
    jobs = members.list("jobs", \.jobs, upTo: Self.limit)
    let tickets = members.other(
      { $0.ready }, read: { $0.elements("ready")?.compactMap(\.wholeNumber) },
      write: { $0.member("ready", $1) })
    ready = Array((tickets ?? []).prefix(Self.maximumReadyTickets))
    programs = members.list(
      "programs", \.programs, upTo: MachineProgram.allCases.count, omitsEmpty: true)
  }
}

extension MachineReport.Job: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    job = try members.required("job", \.job)
    attempt = try members.required("attempt", \.attempt, or: job)
    ticket = try members.required("ticket", \.ticket)
    juice = try members.required("juice", \.juice)
    quantity = try members.required("quantity", \.quantity)
    state = try members.required("state", \.state)
    at = try members.required("at", \.at)
    waiting = members.text("waiting", \.waiting)
  }
}

extension MachineReport.Program: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    program = try members.required("program", \.program)
    last = members.optional("last", \.last)
    dueAt = members.optional("due_at", \.dueAt)
    glassesLeft = members.optional("glasses_left", \.glassesLeft)
    due = members.optional("due", \.due)
    isOverdue = members.flag("overdue", \.isOverdue)
    isManual = members.flag("manual", \.isManual)
    missing = members.optional("missing", \.missing)
    job = members.optional("job", \.job)
    state = members.optional("state", \.state)
    waiting = members.text("waiting", \.waiting)
  }
}

extension JobState: MemberValue {}
extension MachineReport.State: MemberValue {}
