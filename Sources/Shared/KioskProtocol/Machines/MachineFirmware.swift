/// What a machine does about what it hears: the four rules of deploy/docs/machines.md, as a value.
///
/// Its hands do the actions that it returns, in order. One number has to outlive a power cut: the
/// last job. All else is gone with it.
package struct MachineFirmware: Sendable {
  /// The highest job that was begun or cancelled; 0: none.
  package private(set) var last: Int
  /// What was begun and has not ended.
  package private(set) var running: [MachineOrder] = []
  /// A machine in fault begins nothing: the kiosk says the job again, or takes it back.
  package var isInFault = false
  private let atOnce: Int
  /// What became of the latest jobs, as long as there is power; the oldest first.
  private var results: [MachineAnswer] = []

  static let maximumStoredResults = 100

  package enum Action: Hashable, Sendable {
    /// Write the number of the last job down, so that it outlives a power cut: before anything else.
    case store(Int)
    case publish(MachineAnswer)
    case start(MachineOrder)
  }

  /// - Parameters:
  ///   - last: what was written down last.
  ///   - atOnce: how many jobs it takes at a time.
  package init(last: Int, atOnce: Int = 1) {
    self.last = last
    self.atOnce = atOnce
  }

  /// `make/<machine>`
  package mutating func make(_ order: MachineOrder) -> [Action] {
    guard order.job > last else { return [.publish(storedAnswer(order.job))] }
    // It comes again.
    guard !isInFault, running.count < atOnce else { return [] }
    last = order.job
    running.append(order)
    return [
      .store(order.job), .publish(MachineAnswer(job: order.job, status: .started)), .start(order),
    ]
  }

  /// `make/<machine>/cancel`
  package mutating func cancel(_ job: Int) -> [Action] {
    guard job > last else { return [.publish(storedAnswer(job))] }
    last = job
    return [.store(job), .publish(storeResult(MachineAnswer(job: job, status: .cancelled)))]
  }

  /// What was begun has ended.
  package mutating func finish(_ job: Int, _ status: MachineAnswer.Status) -> [Action] {
    guard let index = running.firstIndex(where: { $0.job == job }) else { return [] }
    running.remove(at: index)
    return [.publish(storeResult(MachineAnswer(job: job, status: status)))]
  }

  /// What is known of a job that is not to be begun.
  private func storedAnswer(_ job: Int) -> MachineAnswer {
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
