import ArgumentParser
import CommandLineSupport
import Foundation
import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol
import YAMLConfiguration

struct RunMachine: PreparedCommand {
  static let configuration = CommandConfiguration(
    commandName: "machine",
    abstract: "Simulate a machine in the terminal.",
    discussion: """
      For trials, for a person who makes juices by hand (--manual), and for tests. Like any machine \
      it follows the rules of deploy/docs/machine-contract.md. A file stores the number of its last job.

      With --manual, type
        Enter               the juice is done
        failed jam kiwi=1   it failed: the reason, and the fruit that was used up
        waiting no cup      the job waits for a person
        started             the job goes on
        fault no cups       the machine cannot work
        out kiwi            the machine has no kiwi
        online              the machine can work again
      With several active jobs, type the job's number first: 12, or 12 failed jam.
      """)

  @Argument(help: "The machine's name, as under machines in the configuration.")
  var name: String

  @OptionGroup var options: ConfigurationOptions

  @Flag(help: "A person makes the juice, and reports its end.")
  var manual = false

  @Flag(help: "Print lines instead of progress bars, on a terminal too.")
  var plain = false

  @Option(help: ArgumentHelp("Time for one glass.", valueName: "seconds"))
  var seconds = 5.0

  @Option(help: ArgumentHelp("Maximum number of jobs at a time.", valueName: "number"))
  var atOnce = 1

  @Option(
    help: ArgumentHelp(
      "Every n-th juice fails in the middle, with a jam; 0: none.", valueName: "n"))
  var failEvery = 0

  @Option(
    help: ArgumentHelp(
      "Simulate a power cut at this point of each juice: exit code 79.", valueName: "percent"))
  var powerCutAt: Int?

  @Option(
    help: ArgumentHelp(
      "The file for the number of the last job.",
      discussion: "Default: machine-NAME.last beside the configuration file.", valueName: "file"),
    completion: .file())
  var memory: String?

  @Option(
    help: ArgumentHelp("The log file for the start and end of each pour.", valueName: "file"),
    completion: .file())
  var pourLog: String?

  func validate() throws {
    guard MachineID(name) != nil else {
      throw ValidationError("A machine's name is 1 to 64 of A-Z a-z 0-9 _ -.")
    }
    guard (0...86_400).contains(seconds), (1...100).contains(atOnce), failEvery >= 0,
      (0...100).contains(powerCutAt ?? 0)
    else {
      throw ValidationError(
        "--seconds is 0 to 86400, --at-once 1 to 100, --fail-every at least 0, "
          + "--power-cut-at 0 to 100.")
    }
    guard !manual || powerCutAt == nil && failEvery == 0 else {
      throw ValidationError("--manual excludes --fail-every and --power-cut-at.")
    }
    guard memory != nil || options.file != nil else {
      throw ValidationError("Without a configuration file, give --memory FILE.")
    }
  }

  func prepare() throws -> @Sendable () async throws -> Void {
    let configuration = try options.load()
    let settings = try settings(in: configuration)
    let memoryPath =
      memory
      ?? URL(filePath: options.file ?? "").deletingLastPathComponent()
      .appending(path: "machine-\(name).last").path
    let owner = try FolderOwner(ofFolderOf: memoryPath)
    if let pourLog, try FolderOwner(ofFolderOf: pourLog).user != owner.user {
      throw Failure.badConfiguration(
        "\(pourLog) and \(memoryPath) are in folders of different users: use one folder for both")
    }
    try owner.switchUser()
    let memory = try LastJobFile(path: memoryPath)
    if let problem = memory.problem { StandardError.write("warning: \(problem)") }
    var log: PourLog?
    if let pourLog { log = try PourLog(path: pourLog) }
    let machine = try TerminalMachine(settings, configuration, memory: memory, log: log)
    let lost = manual ? "the end of a juice cannot be reported" : nil
    return { try await machine.serve(readingLinesFor: lost) }
  }

  private func settings(
    in configuration: KioskConfiguration
  ) throws(Failure) -> TerminalMachine.Settings {
    let known = configuration.machines.map(\.name.text)
    guard let id = MachineID(name), known.isEmpty || known.contains(name) else {
      throw .badConfiguration(
        "the configuration has no machine \(name); it has \(known.joined(separator: ", "))")
    }
    return TerminalMachine.Settings(
      name: id, atOnce: atOnce, glass: manual ? nil : .milliseconds(Int(seconds * 1_000)),
      failEvery: failEvery, powerCutAt: powerCutAt,
      hasBars: StandardOutput.isTerminal && !manual && !plain)
  }
}
