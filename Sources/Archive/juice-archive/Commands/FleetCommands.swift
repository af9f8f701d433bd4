import Archive
import ArgumentParser
import CommandLineSupport
import Foundation
import KioskProtocol
import YAMLConfiguration

struct FleetCommands: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fleet", abstract: "Send a menu to the kiosks of the chain.",
    discussion: """
      These commands only write and read the database. The active archiver sends the menu and stores the \
      reports of the kiosks.
      """,
    subcommands: [
      List.self, Status.self, Push.self, Pause.self, Resume.self, Abort.self,
    ])

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print the roll-outs, the latest first.")

    @OptionGroup var options: ConfigurationOptions

    func run() throws {
      let rollouts = try options.withSettings {
        try RolloutTable($0, newerBy: 1).rollouts(limit: 100)
      }
      try StandardOutput.write(rollouts.map(\.summary).joined(separator: "\n"))
    }
  }

  struct Status: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract:
        "Print the latest roll-out, and the kiosks where it failed or that use another menu.")

    @OptionGroup var options: ConfigurationOptions

    @Option(help: ArgumentHelp("Maximum number of failed kiosks to print.", valueName: "count"))
    var failures = 20

    func run() throws {
      let limit = max(0, self.failures)
      let (rollout, failures, own) = try options.withSettings { settings in
        let table = try RolloutTable(settings, newerBy: 1)
        let rollout = try table.rollout()
        return (
          rollout, try table.failures(of: rollout, limit: limit), try table.ownMenus(limit: limit)
        )
      }
      try StandardOutput.write(
        """
        \(rollout.summary)
          \(rollout.first) first, then \(rollout.perMinute) a minute; stops above \(rollout.limit)% failed
        """)
      for failure in failures {
        try StandardOutput.write(
          "  \(failure.kiosk): \(failure.detail.map { "refused: \($0)" } ?? "silent")")
      }
      guard own.count > 0 else { return }
      try StandardOutput.write("\(own.count) kiosks sell by the menus of their own configurations:")
      for kiosk in own.kiosks {
        try StandardOutput.write("  \(kiosk.kiosk)\(kiosk.detail.map { ": \($0)" } ?? "")")
      }
    }
  }

  struct Push: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Start a roll-out.",
      discussion: """
        The file is YAML with only the section 'menu', as in config/menu.yaml: base, currency and juices. \
        Each kiosk keeps its own fruits. A share of the kiosks gets the menu at once; when each of them \
        has reported or exceeded the timeout, the others follow. The menu is checked first, with the fruits that \
        kiosks have reported; above the limit of those that would refuse it, nothing begins.
        """)

    @Argument(help: "The menu.", completion: .file(extensions: ["yaml", "yml"])) var file: String
    @Option(help: "Share of the kiosks that get the menu first, in percent.") var first = Percent(5)
    @Option(help: ArgumentHelp("Number of kiosks per minute after that.", valueName: "kiosks"))
    var rate = 60
    @Option(help: "Stop above this share of failed kiosks, in percent of those sent the menu.")
    var limit = Percent(5)
    @Option(
      help: ArgumentHelp(
        "A kiosk that does not report within this time has failed.", valueName: "seconds"))
    var timeout = 300
    @Option(help: "Only the kiosks of this region. Default: all listed kiosks.") var region: String?
    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
      guard first.value > 0 else {
        throw ValidationError(
          "--first is more than 0: the first kiosks try the menu. With 100, all get it at once.")
      }
      guard (1...10_000).contains(rate) else { throw ValidationError("--rate is 1 to 10000.") }
      guard (5...604_800).contains(timeout) else {
        throw ValidationError("--timeout is 5 to 604800.")
      }
    }

    func run() throws {
      let menu = try DesiredMenu.text(of: file)
      let plan = RolloutTable.Plan(
        menu: menu, file: file, region: region, first: first.value, perMinute: rate,
        limit: limit.value,
        timeout: timeout)
      let (rollout, misfits) = try options.withSettings { settings in
        let table = try RolloutTable(settings)
        // The errors of the menu, not of the archive's configuration.
        do { return try table.push(plan) } catch let error as ConfigurationErrors {
          throw Failure.badData("\(error)")
        }
      }
      let refusals = misfits.map { "\n\($0)" }.joined()
      try StandardOutput.write(
        rollout.summary + (refusals.isEmpty ? "" : "\nThese will refuse it:\(refusals)"),
        after: "the roll-out of menu \(rollout.version) has begun")
    }
  }

  struct Pause: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Pause the roll-out: send the menu to no further kiosk.")

    @OptionGroup var options: ConfigurationOptions

    func run() throws { try decide(.pause, options) }
  }

  struct Resume: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Continue a roll-out that was paused, aborted or stopped automatically.")

    @Option(help: "A new limit, in percent.") var limit: Percent?
    @Flag(help: "Send the menu again to the kiosks where it failed.") var again = false
    @OptionGroup var options: ConfigurationOptions

    func run() throws { try decide(.resume, options, limit: limit?.value, again: again) }
  }

  struct Abort: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "End the roll-out.",
      discussion: """
        Kiosks that have the menu keep it; the others keep their current menu. To restore an earlier \
        menu, push it again.
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
      + "\(counts.unsent) unsent"
  }
}

private func decide(
  _ decision: Rollout.Decision, _ options: ConfigurationOptions, limit: Double? = nil,
  again: Bool = false
) throws {
  let tolerance = decision == .resume ? 0 : 1
  let rollout = try options.withSettings {
    try RolloutTable($0, newerBy: tolerance).decide(decision, limit: limit, again: again)
  }
  try StandardOutput.write(
    rollout.summary, after: "the roll-out of menu \(rollout.version) is \(rollout.state.rawValue)")
}
