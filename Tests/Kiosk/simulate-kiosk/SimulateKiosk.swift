import ArgumentParser
import Foundation
import Simulation

/// Runs simulated schedules on every core, and stops at the first violation of the contract.
@main
struct SimulateKiosk: AsyncParsableCommand {
  @Option(help: "How many schedules to run.")
  var schedules = 20_000

  @Option(help: "The seed of the first one; the others count on from it.")
  var seed: UInt64 = 1

  @Flag(help: "Only kiosks with machines.")
  var machines = false

  @Flag(help: "Only kiosks with payment devices.")
  var payment = false

  @Flag(help: "Only kiosks whose machines have programs.")
  var programs = false

  @Flag(help: "Only kiosks whose fruit has dates.")
  var dates = false

  @Flag(help: "Only kiosks with a sensor in the refrigerator.")
  var sensors = false

  @Flag(help: "Only kiosks with opening hours.")
  var hours = false

  func validate() throws {
    guard schedules > 0 else { throw ValidationError("at least one schedule") }
  }

  func run() async throws {
    let start = ContinuousClock.now
    let counter = Counter(schedules: schedules, seed: seed) {
      [machines, payment, programs, dates, sensors, hours] rules in
      (!machines || rules.machines > 0) && (!payment || rules.terminals > 0)
        && (!programs || rules.hasPrograms) && (!dates || rules.hasDates)
        && (!sensors || rules.hasSensors) && (!hours || rules.hasHours)
    }
    do {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<ProcessInfo.processInfo.activeProcessorCount {
          group.addTask {
            while let schedule = counter.next() {
              do {
                try Simulation.run(schedule)
              } catch {
                counter.stop()
                throw error
              }
              report(counter.finish(), since: start)
            }
          }
        }
        try await group.waitForAll()
      }
    } catch let failure as Simulation.Failure {
      print(failure)
      throw ExitCode.failure
    }
    print("No violation.")
  }

  private func report(_ done: Int, since start: ContinuousClock.Instant) {
    guard done % 10_000 == 0 || done == schedules else { return }
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    let line = "\(done) schedules in \(Int(seconds)) s, \(Int(Double(done) / seconds)) per second\n"
    FileHandle.standardOutput.write(Data(line.utf8))
  }
}
