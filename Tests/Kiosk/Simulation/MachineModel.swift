import KioskCore
import KioskProtocol

/// The auditor's knowledge of machines and their jobs.
struct MachineModel {
  /// All jobs, including ended ones, by the entry of the order.
  var jobs: [Int: Job] = [:]
  /// The ledger's latest record of each machine.
  var records: [String: MachineRecord] = [:]
  /// All answers that machines have sent to the kiosk, by machine and job.
  var answers: [JobKey: [Answer]] = [:]
  /// The machine messages of the kiosk's current batch.
  var batch: [MachineMessage] = []
  /// The machine messages of a batch that may have been committed before the kiosk crashed.
  var lostBatch: [MachineMessage] = []
  /// The ends of jobs since the kiosk received the batch, by the job's last number.
  var endedInBatch: [Int: String] = [:]
  /// The machines that may count as silent.
  var maybeSilent: Set<String> = []
  /// The state of each program by the entries of the ledger.
  var programs: [ProgramID: Program] = [:]
  /// The last decision of a person that ends a job; the job's end is the next entry.
  var decision: (seq: Int, job: Int, choice: String, left: [String: Int])?

  struct Program {
    /// The time at which it was last done.
    var done = Duration.zero
    /// The glasses since, and the time of the last one.
    var glasses = 0
    var made: Duration?
    /// The time at which the auditor read that it is due, and the time of that entry.
    var due: (seen: Duration, at: Int64)?
  }

  struct JobKey: Hashable { let machine: String, job: Int }

  struct Answer: Hashable {
    let status: String
    var reason: String?
    var used: [String: Int]?
  }

  enum MachineMessage {
    case status(String, of: String, isRetained: Bool)
    case answer(Answer, to: JobKey)
  }

  struct Job {
    let seq: Int
    let machine: String
    let order: (juice: String, quantity: Int)
    let ticket: Int
    /// The program, or `nil` for an order.
    var program: MachineProgram?
    let used: [String: Int]
    /// All numbers under which the machine has received the job; the last one is in force.
    var numbers: [Int]
    /// Time of the order or of its latest repetition, in milliseconds since 1970.
    var at: Int64
    /// The same time on the monotonic clock, or a little later.
    var uptime: Duration
    var state: JobState
    /// Time at which the auditor first read this state.
    var since: Duration
    var end: Model.Outcome?
    /// The ledger entry of its end.
    var endSeq: Int?
    /// Number of messages that clients had sent before its end.
    var sentBefore = 0
    var isMadeByMachine = false
    /// Whether a sensor has blocked its fruit or machine since the order.
    var mayBeBlocked = false

    var number: Int { numbers[numbers.count - 1] }
  }
}
