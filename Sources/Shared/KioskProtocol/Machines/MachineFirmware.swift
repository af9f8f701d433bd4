/// The logic of a machine, as a value: the four rules of machine-contract.md.
///
/// The machine executes the returned actions in order. Only the last job number must survive a
/// power cut.
package struct MachineFirmware: Sendable {
  /// The highest job number begun or cancelled; 0 if there is none.
  package private(set) var last: Int
  /// The jobs in progress.
  package private(set) var running: [MachineOrder] = []
  /// Whether the machine is in fault. It then begins no job; the kiosk resends or cancels the job.
  package var isInFault = false
  private let atOnce: Int
  /// The reasons why jobs wait for a person, by job number.
  private var waiting: [Int: String] = [:]
  /// The results of the latest jobs, the oldest first; lost in a power cut.
  private var results: [MachineAnswer] = []

  static let maximumStoredResults = 100

  package enum Action: Hashable, Sendable {
    /// Stores the last job number durably, before any other action.
    case store(Int)
    case publish(MachineAnswer)
    case start(MachineOrder)
  }

  /// Creates a machine without jobs in progress.
  ///
  /// - Parameters:
  ///   - last: The stored job number.
  ///   - atOnce: Maximum number of concurrent jobs.
  package init(last: Int, atOnce: Int = 1) {
    self.last = last
    self.atOnce = atOnce
  }

  /// Processes a message on `make/<machine>`.
  package mutating func make(_ order: MachineOrder) -> [Action] {
    guard order.job > last else { return [.publish(storedAnswer(order.job))] }
    // No answer: the kiosk sends the job again.
    guard !isInFault, running.count < atOnce else { return [] }
    let runsProgram = running.contains { $0.program != nil }
    // guard: while a program runs the machine makes nothing
    guard running.isEmpty || order.program == nil && !runsProgram else { return [] }
    last = order.job
    running.append(order)
    return [
      .store(order.job), .publish(MachineAnswer(job: order.job, status: .started)), .start(order),
    ]
  }

  /// Processes a message on `make/<machine>/cancel`.
  package mutating func cancel(_ job: Int) -> [Action] {
    guard job > last else { return [.publish(storedAnswer(job))] }
    last = job
    return [.store(job), .publish(storeResult(MachineAnswer(job: job, status: .cancelled)))]
  }

  /// Reports that a job waits for a person, for the given reason; or that it continues, if the
  /// reason is `nil`.
  package mutating func wait(_ job: Int, for reason: String?) -> [Action] {
    guard running.contains(where: { $0.job == job }) else { return [] }
    waiting[job] = reason
    return [.publish(storedAnswer(job))]
  }

  /// Reports the end of a job.
  package mutating func finish(_ job: Int, _ status: MachineAnswer.Status) -> [Action] {
    guard let index = running.firstIndex(where: { $0.job == job }) else { return [] }
    running.remove(at: index)
    waiting[job] = nil
    return [.publish(storeResult(MachineAnswer(job: job, status: status)))]
  }

  /// Returns the last known state of a job that the machine must not begin.
  private func storedAnswer(_ job: Int) -> MachineAnswer {
    if let reason = waiting[job] {
      return MachineAnswer(job: job, status: .waiting(reason: reason))
    }
    let isRunning = running.contains { $0.job == job }
    return results.last { $0.job == job }
      ?? MachineAnswer(job: job, status: isRunning ? .started : .unknown)
  }

  private mutating func storeResult(_ answer: MachineAnswer) -> MachineAnswer {
    results.append(answer)
    if results.count > Self.maximumStoredResults { results.removeFirst() }
    return answer
  }
}
