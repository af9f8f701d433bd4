import KioskCore
import KioskProtocol

/// What the auditor knows of machines and their jobs.
struct MachineModel {
  /// By the entry of the order; those that are over, too.
  var jobs: [Int: Job] = [:]
  /// What the ledger has said of machines last.
  var records: [String: MachineRecord] = [:]
  /// All that machines have said to the kiosk, by machine and job.
  var answers: [JobKey: [Answer]] = [:]
  /// The batch that the kiosk has in hand.
  var batch: [MachineMessage] = []
  /// What a batch said that may have been committed when the kiosk died.
  var lostBatch: [MachineMessage] = []
  /// How jobs have ended since it has had that, by their last number.
  var endedInBatch: [Int: String] = [:]
  /// They may count as silent.
  var maybeSilent: Set<String> = []
  /// The last decision of a person that ends a job: its end is the next entry.
  var decision: (seq: Int, job: Int, choice: String, left: [String: Int])?

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
    let used: [String: Int]
    /// Under which the machine has known it, the last one at the end.
    var numbers: [Int]
    /// In milliseconds since 1970.
    var at: Int64
    var state: JobState
    /// When it was first seen in this state.
    var since: Duration
    var end: Model.Outcome?
    /// That of its end.
    var endSeq: Int?
    /// How many messages people had sent by then.
    var sentBefore = 0
    var isMadeByMachine = false

    var number: Int { numbers[numbers.count - 1] }
  }
}
