import ArgumentParser
import Dispatch
import Foundation
import Simulation

/// Runs simulated schedules in one process for each core, and stops at the first violation of the
/// contract.
///
/// Processes share no allocator and no mutex of SQLite. Process `share` of `shares` runs each
/// `shares`-th schedule.
@main
struct SimulateKiosk: ParsableCommand {
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

  @Option(help: "In how many processes; by default one for each core.")
  var shares = ProcessInfo.processInfo.activeProcessorCount

  @Option(help: .hidden)
  var share: Int?

  func validate() throws {
    guard schedules > 0 else { throw ValidationError("at least one schedule") }
    guard shares > 0 else { throw ValidationError("at least one process") }
    guard (0..<shares).contains(share ?? 0) else { throw ValidationError("no such share") }
  }

  func run() throws {
    if let share { return try run(share: share) }
    let start = ContinuousClock.now
    try runProcesses(min(shares, schedules))
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    write(
      "\(schedules) schedules in \(Int(seconds)) s, \(Int(Double(schedules) / seconds)) per second")
    write("No violation.")
  }

  private func isWanted(_ rules: Schedule.Rules) -> Bool {
    (!machines || rules.machines > 0) && (!payment || rules.terminals > 0)
      && (!programs || rules.hasPrograms) && (!dates || rules.hasDates)
      && (!sensors || rules.hasSensors) && (!hours || rules.hasHours)
  }

  /// Runs the schedules whose place in the sequence of wanted ones belongs to this share.
  private func run(share: Int) throws {
    var next = seed
    var (found, done) = (0, 0)
    // The first process ends if another has failed, or by Ctrl-C, which reaches only its own group. Then
    // this one ends after its schedule, which removes the schedule's files.
    let parent = getppid()
    while found < schedules, getppid() == parent {
      let schedule = Schedule(seed: next)
      next &+= 1
      guard isWanted(schedule.rules) else { continue }
      defer { found += 1 }
      guard found % shares == share else { continue }
      do {
        try Simulation.run(schedule)
      } catch {
        if getppid() == parent { write("\(error)") }
        throw ExitCode.failure
      }
      done += 1
      if done % 10_000 == 0 { write("\(done) schedules of process \(share + 1)") }
    }
  }

  /// Starts one process for each share, and waits until all have ended or one has failed.
  private func runProcesses(_ count: Int) throws {
    let (ends, arguments) = (DispatchSemaphore(value: 0), CommandLine.arguments)
    let processes = try (0..<count).map { share in
      let process = Process()
      process.executableURL = Bundle.main.executableURL
      process.arguments =
        arguments.dropFirst() + ["--shares", "\(count)", "--share", "\(share)"]
      process.terminationHandler = { _ in ends.signal() }
      try process.run()
      return process
    }
    for _ in processes {
      ends.wait()
      let hasFailed = processes.contains { !$0.isRunning && $0.terminationStatus != 0 }
      if hasFailed { throw ExitCode.failure }
    }
  }

  private func write(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
  }
}
