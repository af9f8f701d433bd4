import JuiceDomain
import Testing

@testable import KioskProtocol

/// The four rules of machine-contract.md: messages to a machine, and its actions.
@Suite struct MachineFirmwareTests {
  private enum Input {
    case make(Int)
    case cancel(Int)
    case finish(Int, MachineAnswer.Status)
    /// Loses all state except the stored job number.
    case powerCut
    case fault(Bool)
  }

  private static let jam = MachineAnswer.Status.failed(reason: "jam", used: ["kiwi": 1])

  private func actions(_ inputs: [Input], atOnce: Int = 1) -> [[String]] {
    var firmware = MachineFirmware(last: 10, atOnce: atOnce)
    var answers: [[String]] = []
    for input in inputs {
      var actions: [MachineFirmware.Action] = []
      switch input {
      case .make(let job): actions = firmware.make(.test(job))
      case .cancel(let job): actions = firmware.cancel(job)
      case .finish(let job, let status): actions = firmware.finish(job, status)
      case .powerCut: firmware = MachineFirmware(last: firmware.last, atOnce: atOnce)
      case .fault(let isInFault): firmware.isInFault = isInFault
      }
      answers.append(actions.map(\.word))
    }
    return answers
  }

  @Test func aNewJobIsWrittenDownBeforeItIsSaidAndBegun() {
    #expect(
      actions([.make(11), .finish(11, .done), .make(12), .finish(12, Self.jam)]) == [
        ["remember 11", "11 started", "begin 11"], ["11 done"],
        ["remember 12", "12 started", "begin 12"], ["12 failed"],
      ])
  }

  @Test func aProgramRunsAlone() {
    var firmware = MachineFirmware(last: 10, atOnce: 3)
    func make(_ job: Int, _ program: MachineProgram?) -> Int {
      firmware.make(
        program.map { MachineOrder(job: job, program: $0, recipe: [:]) } ?? .test(job)
      ).count
    }
    #expect(make(11, nil) == 3)
    #expect(make(12, .clean) == 0, "an order runs")
    _ = firmware.finish(11, .done)
    #expect(make(12, .clean) == 3)
    #expect(make(13, nil) == 0 && make(13, .rinse) == 0, "a program runs")
    #expect(make(12, .clean) == 1, "its state")
    _ = firmware.finish(12, .done)
    #expect(make(13, nil) == 3)
  }

  @Test func aJobThatIsKnownIsNotBegunAgain() {
    #expect(
      actions([.make(11), .make(11), .cancel(11), .finish(11, .done), .make(11), .cancel(11)])
        == [
          ["remember 11", "11 started", "begin 11"], ["11 started"], ["11 started"], ["11 done"],
          ["11 done"], ["11 done"],
        ])
    #expect(
      actions([.make(11), .finish(11, Self.jam), .cancel(11)]).last == ["11 failed"])
  }

  @Test func afterAPowerCutNothingIsKnown() {
    #expect(
      actions([.make(11), .powerCut, .make(11), .cancel(11), .finish(11, .done), .make(12)]) == [
        ["remember 11", "11 started", "begin 11"], [], ["11 unknown"], ["11 unknown"], [],
        ["remember 12", "12 started", "begin 12"],
      ])
  }

  @Test func whatIsBelowTheLastIsUnknown() {
    #expect(
      actions([.make(9), .cancel(9), .make(-1), .make(10), .cancel(10)]) == [
        ["9 unknown"], ["9 unknown"], ["-1 unknown"], ["10 unknown"], ["10 unknown"],
      ])
  }

  @Test func whatIsCancelledIsNeverBegun() {
    #expect(
      actions([.cancel(12), .make(12), .make(11), .powerCut, .make(12), .make(13)]) == [
        ["remember 12", "12 cancelled"], ["12 cancelled"], ["11 unknown"], [], ["12 unknown"],
        ["remember 13", "13 started", "begin 13"],
      ])
  }

  @Test func aCancellationOfWhatWasBegunLoses() {
    #expect(
      actions([.make(11), .cancel(11), .finish(11, .done)]).dropFirst() == [
        ["11 started"], ["11 done"],
      ])
  }

  @Test func aMachineThatIsBusyBeginsNothing() {
    #expect(
      actions([.make(11), .make(12), .finish(11, .done), .make(12)]) == [
        ["remember 11", "11 started", "begin 11"], [], ["11 done"],
        ["remember 12", "12 started", "begin 12"],
      ])
  }

  @Test func aMachineInFaultBeginsNothing() {
    #expect(
      actions([.fault(true), .make(11), .cancel(11), .fault(false), .make(11), .make(12)]) == [
        [], [], ["remember 11", "11 cancelled"], [], ["11 cancelled"],
        ["remember 12", "12 started", "begin 12"],
      ])
  }

  @Test func aMachineThatTakesSeveralKnowsEachOfThem() {
    #expect(
      actions(
        [.make(11), .make(12), .make(13), .make(11), .finish(12, .done), .cancel(12), .cancel(11)],
        atOnce: 2) == [
          ["remember 11", "11 started", "begin 11"], ["remember 12", "12 started", "begin 12"], [],
          ["11 started"], ["12 done"], ["12 done"], ["11 started"],
        ])
  }

  @Test func itRemembersTheLatestEndsOnly() {
    let many = (11...(11 + MachineFirmware.maximumStoredResults)).flatMap {
      [Input.make($0), .finish($0, .done)]
    }
    #expect(actions(many + [.make(11), .make(12)]).suffix(2) == [["11 unknown"], ["12 done"]])
  }

  @Test func whatHasEndedDoesNotEndAgain() {
    #expect(
      actions([.make(11), .finish(11, .done), .finish(11, Self.jam), .make(11)]).suffix(2) == [
        [], ["11 done"],
      ])
  }
}

extension MachineOrder {
  fileprivate static func test(_ job: Int) -> MachineOrder {
    MachineOrder(job: job, ticket: 1, juice: "kiwi", quantity: 1, recipe: ["kiwi": 3])
  }
}

extension MachineFirmware.Action {
  fileprivate var word: String {
    switch self {
    case .store(let job): "remember \(job)"
    case .publish(let answer): "\(answer.job) \(answer.status.name)"
    case .start(let order): "begin \(order.job)"
    }
  }
}
