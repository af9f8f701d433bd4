import InMemoryBroker
import JuiceDomain
import KioskCore
import KioskProtocol

// Events of payment devices.
extension World {
  func perform(_ event: Step.TerminalEvent, on terminal: Terminal) {
    switch event {
    case .powerOff: terminal.powerOff()
    case .powerOn: terminal.powerOn()
    case .cut: broker.cut(terminal.clientID)
    case .fault(let fault):
      terminal.setFault(fault)
      run(on: terminal) { await $0.faultChanged() }
    case .breakConnection(let moment, let step, let skipping):
      broker.inject(MemoryBroker.Fault(moment, step, of: terminal.clientID, skipping: skipping))
    case .publishAgain(let distance):
      let charges = terminal.charges.keys.sorted()
      guard charges.count > distance else { break }
      let answer = terminal.answer(about: charges[charges.count - 1 - distance])
      run(on: terminal) { await $0.publishStray(answer) }
    case .invents(let number):
      run(on: terminal) {
        await $0.publishStray(
          #"{"charge":\#(number),"status":"held","amount":350,"currency":"EUR"}"#)
      }
    case .ends(let state):
      guard
        // A person who has seen another amount captured than asked for has no word for it.
        let (number, charge) = terminal.charges
          .filter({ $0.value.state == .held && $0.value.held == $0.value.asked })
          .min(by: { $0.key < $1.key })
      else { break }
      terminal.move(number, to: state, cents: charge.held)
      let answer = terminal.answer(about: number)
      run(on: terminal) { await $0.publishStray(answer) }
    case .endDay:
      let now = Timestamp(milliseconds: wallClock)
      run(on: terminal) { await $0.endDay(at: now) }
    case .malfunction(let malfunction): terminal.schedule(malfunction)
    }
  }

  func repair(_ terminal: Terminal) {
    terminal.repair()
    terminal.powerOff()
    terminal.powerOn()
  }

  private func run(
    on terminal: Terminal, _ what: @escaping @Sendable (TerminalBoard) async -> Void
  ) {
    guard let board = terminal.board else { return }
    Task(executorPreference: executor) { await what(board) }
    executor.run()
  }

  /// Returns the message with the decision of a person who has read the journal of the device.
  func decided(_ sending: Sending) -> Sending {
    guard case .settle(nil, let pick) = sending.content else { return sending }
    let number = auditor.charge(pick)
    let journal = terminals.lazy.compactMap { $0.charges[number] }.first
    var choice = "released"
    if auditor.payments.open[number]?.captured != nil {
      choice = pick % 2 == 0 ? "refund" : "captured"
      if journal?.state == .refunded { choice = "refunded" }
      if pick % 5 == 0, journal?.state == .captured { choice = "cash" }
    } else if journal?.captured ?? 0 > 0 {
      choice = "captured"
    } else if journal?.state == .held {
      choice = pick % 2 == 0 ? "release" : "capture"
    } else if auditor.payments.open[number]?.goal == .capturing, pick % 2 == 0 {
      choice = "write_off"
    }
    var sending = sending
    sending.content = .settle(choice, pick: pick)
    return sending
  }

  /// Decides about each charge that a person must decide about.
  func decidePendingCharges() throws {
    broker.removeFaults()
    for number in 0..<auditor.undecidedCharges.count where violation == nil {
      try perform(.send([Sending(from: "job/closing", content: .settle(nil, pick: number))]))
      try perform(.pass(1_000))
    }
  }
}
