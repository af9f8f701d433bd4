import Archive
import ArgumentParser
import CommandLineSupport
import Foundation
import KioskProtocol
import YAMLConfiguration

struct FleetCommands: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fleet", abstract: "Bring a menu down to the kiosks of the chain.",
    discussion: """
      These commands only write and read the database. The archiver that is active sends the menu, and \
      keeps what the kiosks report.
      """,
    subcommands: [
      List.self, Status.self, Push.self, Pause.self, Resume.self, Abort.self,
    ])

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print the roll-outs, the latest first.")

    @OptionGroup var options: ConfigurationOptions

    func run() throws {
      let rollouts = try options.rolloutTable().rollouts(limit: 100)
      StandardOutput.write(rollouts.map(\.summary).joined(separator: "\n"))
    }
  }

  struct Status: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print how far the latest roll-out is, and where it has failed.")

    @OptionGroup var options: ConfigurationOptions

    @Option(help: ArgumentHelp("So many of the kiosks where it has failed.", valueName: "count"))
    var failures = 20

    func run() throws {
      let table = try options.rolloutTable()
      let rollout = try table.rollout()
      let failures = try table.failures(of: rollout, limit: max(0, self.failures))
      StandardOutput.write(
        """
        \(rollout.summary)
          \(rollout.first) first, then \(rollout.perMinute) a minute; stops above \(rollout.limit)% failed
        """)
      for failure in failures {
        StandardOutput.write(
          "  \(failure.kiosk): \(failure.detail.map { "refused: \($0)" } ?? "silent")")
      }
    }
  }

  struct Push: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Begin a roll-out.",
      discussion: """
        The file is YAML with 'menu' as in config/menu.yaml, and nothing besides: base, currency and \
        juices. The fruits are each kiosk's own. A share of the kiosks gets it at once; when each of them \
        has reported, or been silent for longer than the timeout, the others follow.
        """)

    @Argument(help: "The menu.", completion: .file(extensions: ["yaml", "yml"])) var file: String
    @Option(help: "The share of the kiosks that get it first, in percent.") var first = Percent(5)
    @Option(help: ArgumentHelp("Then so many kiosks a minute.", valueName: "kiosks")) var rate = 60
    @Option(help: "Stop when it has failed at more of those that it was sent to, in percent.")
    var limit = Percent(5)
    @Option(
      help: ArgumentHelp("A kiosk that is silent for longer has failed.", valueName: "seconds"))
    var timeout = 300
    @Option(help: "Only the kiosks of this region; else all of the list.") var region: String?
    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
      guard (1...10_000).contains(rate) else { throw ValidationError("--rate is 1 to 10000.") }
      guard (5...604_800).contains(timeout) else {
        throw ValidationError("--timeout is 5 to 604800.")
      }
    }

    func run() throws {
      let menu = try DesiredMenu.text(of: file)
      let plan = RolloutTable.Plan(
        menu: menu, region: region, first: first.value, perMinute: rate, limit: limit.value,
        timeout: timeout)
      let rollout = try options.rolloutTable().push(plan)
      StandardOutput.write(rollout.summary)
    }
  }

  struct Pause: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Send the menu to no more kiosks until it is resumed.")

    @OptionGroup var options: ConfigurationOptions

    func run() throws { try decide(.pause, options) }
  }

  struct Resume: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Go on with what was paused, aborted, or has stopped by itself.")

    @Option(help: "A new limit, in percent.") var limit: Percent?
    @Flag(help: "Send it anew where it has failed.") var again = false
    @OptionGroup var options: ConfigurationOptions

    func run() throws { try decide(.resume, options, limit: limit?.value, again: again) }
  }

  struct Abort: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "End it where it is.",
      discussion: """
        Kiosks that have the menu keep it, and the others keep what they have. To bring an earlier menu \
        back, push that one.
        """)

    @OptionGroup var options: ConfigurationOptions

    func run() throws { try decide(.abort, options) }
  }
}

/// A percentage from 0 to 100, written as `5` or `5%`.
struct Percent: ExpressibleByArgument {
  let value: Double

  init(_ value: Double) { self.value = value }

  init?(argument: String) {
    guard let value = Double(argument.hasSuffix("%") ? String(argument.dropLast()) : argument),
      (0...100).contains(value)
    else { return nil }
    self.value = value
  }

  var defaultValueDescription: String { "\(value)%" }
}

extension Rollout {
  fileprivate var summary: String {
    "menu \(version)  \(state.rawValue)  \(counts.taken) of \(counts.all) kiosks have it, "
      + "\(counts.refused) refused, \(counts.silent) silent, \(counts.waiting) waiting, "
      + "\(counts.unsent) to come"
  }
}

private func decide(
  _ decision: Rollout.Decision, _ options: ConfigurationOptions, limit: Double? = nil,
  again: Bool = false
) throws {
  let rollout = try options.rolloutTable().decide(decision, limit: limit, again: again)
  StandardOutput.write(rollout.summary)
}

extension ConfigurationOptions {
  fileprivate func rolloutTable() throws -> RolloutTable {
    try RolloutTable(ArchiveSettings(load()))
  }
}
