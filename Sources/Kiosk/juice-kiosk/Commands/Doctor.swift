import ArgumentParser
import CommandLineSupport
import Foundation
import KioskCore
import KioskDaemon
import KioskProtocol
import YAMLConfiguration

struct Doctor: PreparedCommand {
  static let configuration = CommandConfiguration(
    abstract: "Find problems that can keep the kiosk from working.",
    discussion: """
      Examines the configuration, file permissions, the disk, the clock and the ledger; whether \
      the broker answers, accepts the kiosk's account and has sufficient limits; what the broker \
      refuses to the running kiosk; whether another client has the kiosk's client id; retained \
      messages that should not be there; machines; sensors; payment; and the uplink. Each finding has its fix.

      The doctor may run while the kiosk runs. Run it as root or as the kiosk's user.

      Exits 0 without warnings, 1 with warnings, and with the exit code of the first error.
      """)

  @OptionGroup var options: ConfigurationOptions

  @Flag(help: "Print an object with all findings as JSON.")
  var json = false

  @Flag(help: "Log in even where that might disconnect a running kiosk.")
  var login = false

  @Option(help: ArgumentHelp("How long to wait for each answer.", valueName: "seconds"))
  var timeout = 10

  func validate() throws {
    guard (1...600).contains(timeout) else { throw ValidationError("--timeout is 1 to 600.") }
  }

  func prepare() throws -> @Sendable () async throws -> Void {
    let (local, examination, uplink) = try runLocalChecks()
    return { [json] in
      var findings = local
      if let examination { findings += try await examination.findings() }
      if let uplink { findings += try await uplink.findings() }
      if json {
        try StandardOutput.write(json: findings.payload)
      } else {
        try StandardOutput.write(
          findings.lines(width: StandardOutput.width, color: StandardOutput.isTerminal)
            .joined(separator: "\n"))
      }
      guard findings.status == .success else { throw findings.status }
    }
  }

  /// Runs the checks that need no broker.
  ///
  /// - Returns: The findings of these checks, and the examinations of the kiosk's broker and of its
  ///   uplink; `nil` in place of an examination that cannot run or of an uplink that is not configured.
  private func runLocalChecks() throws -> ([Finding], BrokerExamination?, UplinkCheck?) {
    let text: KioskConfiguration.Text
    var own: KioskConfiguration
    do throws(ConfigurationErrors) {
      text = try options.text()
      own = try text.configuration()
    } catch {
      return (.configuration(error), nil, nil)
    }
    let path = own.ledgerPath
    let password: [Finding] = .password(own.broker)
    // As root, the doctor reads the passwords before it switches to the ledger folder's owner.
    // `password`, `uplinkPassword` or the login reports a password that cannot be read.
    try? own.broker.loadPassword()
    let uplinkPassword: [Finding] = own.uplink.map { .password($0.broker) } ?? []
    try? own.uplink?.broker.loadPassword()
    var more: [Finding] = []
    if let warning = options.serviceLinksWarning {
      more.append(.note(.configuration, "environment", warning))
    }
    more += uplinkPassword
    do throws(Failure) { try FolderOwner(ofFolderOf: path).switchUser() } catch {
      let finding = Finding.error(.permissions, path, error.message, fix: "follow the message")
      let findings: [Finding] = .configuration(own, file: options.file) + password
      return (findings + more + [finding], nil, nil)
    }
    // The owner of the folder may have put links in place of the files beside the ledger.
    var configuration: KioskConfiguration
    do throws(ConfigurationErrors) { configuration = try text.withMenu() } catch {
      return (.configuration(error), nil, nil)
    }
    (configuration.broker, configuration.uplink) = (own.broker, own.uplink)
    var findings: [Finding] = .configuration(configuration, file: options.file) + password + more
    var ledger = LedgerView()
    let ledgerFindings = ledger.read(path)
    let clock = MachineClock.current
    findings += .folder(of: path) + .disk(of: path)
    findings += .clock(clock, last: ledger.lastEntry, latest: ledger.latestTime) + ledgerFindings
    findings += .dates(Kiosk(settings: KioskSettings(configuration), state: ledger.state).batches)
    let uplink =
      uplinkPassword.isGood
      ? configuration.uplink.map {
        UplinkCheck(broker: $0.broker, ledger: ledger, timeout: .seconds(timeout))
      } : nil
    guard password.isGood else { return (findings, nil, uplink) }
    let examination = BrokerExamination(
      configuration, ledger: ledger, now: clock.now, timeout: .seconds(timeout),
      logsInAnyway: login)
    return (findings, examination, uplink)
  }
}
