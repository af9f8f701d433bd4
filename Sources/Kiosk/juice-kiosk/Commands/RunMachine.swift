import ArgumentParser
import CommandLineSupport
import Foundation
import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol
import Logging
import ServiceLifecycle
import YAMLConfiguration

struct RunMachine: PreparedCommand {
  static let configuration = CommandConfiguration(
    commandName: "machine",
    abstract: "Be a machine in the terminal, which makes juices of air.",
    discussion: """
      For trying out, for a person who makes juices by hand (--manual), and for tests. It keeps the \
      rules of deploy/docs/machines.md as any machine does, with the number of its last job in a file.

      With --manual, type
        Enter               the juice is done
        failed jam kiwi=1   it failed, why, and the fruit that is gone
        fault no cups       the machine cannot work
        online              it can again
      With several juices in hand the job's number comes first: 12, or 12 failed jam.
      """)

  @Argument(help: "The machine's name, as it stands in the configuration under machines.")
  var name: String

  @OptionGroup var options: ConfigurationOptions

  @Flag(help: "A person makes the juice, and says when it is done.")
  var manual = false

  @Flag(help: "Print lines instead of progress bars, on a terminal too.")
  var plain = false

  @Option(help: ArgumentHelp("How long a glass takes.", valueName: "seconds"))
  var seconds = 5.0

  @Option(help: ArgumentHelp("How many jobs it takes at a time.", valueName: "number"))
  var atOnce = 1

  @Option(
    help: ArgumentHelp(
      "Of so many juices the last fails in the middle, with a jam.", valueName: "number"))
  var failEvery = 0

  @Option(
    help: ArgumentHelp(
      "Die in every juice as by a power cut, with exit code 79.", valueName: "percent"))
  var powerCutAt: Int?

  @Option(
    help: ArgumentHelp(
      "Where the number of the last job is kept.",
      discussion: "Default: machine-NAME.last beside the configuration file.", valueName: "file"),
    completion: .file())
  var memory: String?

  @Option(
    help: ArgumentHelp("Note each pour here, as it begins and as it ends.", valueName: "file"),
    completion: .file())
  var pourLog: String?

  func validate() throws {
    guard MachineID(name) != nil else {
      throw ValidationError("A machine's name is 1 to 64 of A-Z a-z 0-9 _ -.")
    }
    guard (0...86_400).contains(seconds), (1...100).contains(atOnce), failEvery >= 0,
      (0...100).contains(powerCutAt ?? 0)
    else {
      throw ValidationError("0 to 86400 seconds, 1 to 100 jobs, 0 to 100 percent.")
    }
    guard !manual || powerCutAt == nil && failEvery == 0 else {
      throw ValidationError("With --manual a person says what fails.")
    }
    guard memory != nil || options.file != nil else {
      throw ValidationError("Without a configuration file, say --memory FILE.")
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
        "\(pourLog) is in another user's folder than \(memoryPath): keep them together")
    }
    try owner.switchUser()
    let memory = try LastJobFile(path: memoryPath)
    var log: PourLog?
    if let pourLog { log = try PourLog(path: pourLog) }
    let machine = try TerminalMachine(settings, configuration, memory: memory, log: log)
    let service = UntilShutdown { [manual] in
      try await withThrowingTaskGroup { group in
        group.addTask { try await machine.run() }
        if manual {
          group.addTask {
            for await line in StandardInput.lines { try await machine.type(line) }
          }
        }
        // Without a person the machine runs until it is stopped, with one until the end of the
        // input. It disconnects cleanly in both cases.
        defer { group.cancelAll() }
        try await group.next()
      }
    }
    return {
      let logger = Logger(label: "juice-kiosk") { _ in SwiftLogNoOpLogHandler() }
      try await ServiceGroup.run([service], logger: logger)
    }
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
