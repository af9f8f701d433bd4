import ArgumentParser
import CommandLineSupport
import Foundation
import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol
import YAMLConfiguration

struct RunPayment: PreparedCommand {
  static let configuration = CommandConfiguration(
    commandName: "payment",
    abstract: "Simulate a payment device in the terminal.",
    discussion: """
      For trials and for tests. Like any payment device it follows the rules of \
      deploy/docs/payment-contract.md. A file is its journal: one line for each change.

      Type
        Enter               the card is accepted
        decline no credit   the card is declined: the reason
        present             a card is in the reader
        silent              answer nothing, until silent is typed again
        power cut           end as without power: exit code 79
        fault no paper      no new charges are possible
        online              they are possible again
        day                 end the day
      """)

  @Argument(help: "The device's name, as under payment.devices in the configuration.")
  var name: String

  @OptionGroup var options: ConfigurationOptions

  @Option(
    help: ArgumentHelp(
      "Accept each card after this time, without a keyboard.", valueName: "seconds"))
  var payAfter: Double?

  @Option(
    help: ArgumentHelp(
      "The journal.",
      discussion: "Default: payment-NAME.journal beside the configuration file.",
      valueName: "file"),
    completion: .file())
  var journal: String?

  func validate() throws {
    guard PaymentDeviceID(name) != nil else {
      throw ValidationError("A device's name is 1 to 64 of A-Z a-z 0-9 _ -.")
    }
    guard (0...3_600).contains(payAfter ?? 0) else {
      throw ValidationError("--pay-after is 0 to 3600.")
    }
    guard journal != nil || options.file != nil else {
      throw ValidationError("Without a configuration file, give --journal FILE.")
    }
  }

  func prepare() throws -> @Sendable () async throws -> Void {
    let configuration = try options.load()
    let known = configuration.payment?.devices.map(\.name.text) ?? []
    guard let id = PaymentDeviceID(name), known.isEmpty || known.contains(name) else {
      throw Failure.badConfiguration(
        "the configuration has no payment device \(name); it has \(known.joined(separator: ", "))")
    }
    let path =
      journal
      ?? URL(filePath: options.file ?? "").deletingLastPathComponent()
      .appending(path: "payment-\(name).journal").path
    try FolderOwner(ofFolderOf: path).switchUser()
    let settings = TerminalPayment.Settings(
      name: id, payAfter: payAfter.map { .milliseconds(Int($0 * 1_000)) })
    let device = try TerminalPayment(
      settings, configuration, journal: PaymentJournal(path: path))
    let lost = payAfter == nil ? "no payment can be entered" : nil
    return { try await device.serve(readingLinesFor: lost) }
  }
}
