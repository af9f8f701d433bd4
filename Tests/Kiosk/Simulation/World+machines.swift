import InMemoryBroker
import KioskProtocol

// Events of machines.
extension World {
  func perform(_ event: Step.MachineEvent, on machine: Machine) {
    switch event {
    case .powerOff: machine.powerOff()
    case .powerOn: machine.powerOn()
    case .cut: broker.cut(machine.clientID)
    case .eraseFlash: machine.eraseFlash()
    case .fault(let fault): setFault(fault, of: machine)
    case .breakConnection(let moment, let step, let skipping):
      broker.inject(MemoryBroker.Fault(moment, step, of: machine.clientID, skipping: skipping))
    case .strayAnswer(let status, let distance):
      machine.breakContract()
      run(on: machine) { [seq = auditor.seq] in
        await $0.publishStray(Board.Answer(job: seq - distance, status: status))
      }
    case .malfunction(let malfunction): machine.schedule(malfunction)
    }
  }

  func repair(_ machine: Machine) {
    machine.repair()
    machine.powerOff()
    machine.powerOn()
  }

  private func setFault(_ fault: String?, of machine: Machine) {
    machine.setFault(fault)
    run(on: machine) { await $0.faultChanged() }
  }

  private func run(on machine: Machine, _ what: @escaping @Sendable (Board) async -> Void) {
    guard let board = machine.board else { return }
    Task(executorPreference: executor) { await what(board) }
    executor.run()
  }

  /// Decides each open job, so that each accepted order ends.
  func decidePendingJobs() throws {
    // The injected faults are over, so that a person's message arrives at once.
    broker.removeFaults()
    for number in 0..<auditor.openJobs.count where violation == nil {
      let choice = number % 2 == 0 ? "poured" : "give_back"
      try perform(
        .send([Sending(from: "job/closing", content: .decide(choice, pick: 0, used: nil))]))
      try perform(.pass(1_000))
    }
  }
}
