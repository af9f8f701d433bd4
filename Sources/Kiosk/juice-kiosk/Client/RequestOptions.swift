import ArgumentParser
import CommandLineSupport
import Foundation
import JuiceDomain
import KioskDaemon
import KioskProtocol

/// The options of each command that sends a request to a kiosk.
struct RequestOptions: ParsableArguments {
  @OptionGroup var configuration: ConfigurationOptions

  @Option(
    name: .customLong("as"),
    help: ArgumentHelp(
      "The name under which the kiosk hears of this, the last level of the topic.",
      valueName: "name"))
  var name = "terminal"

  @Option(
    help: ArgumentHelp(
      "The request's id: give the same one again to repeat a request that was not answered.",
      valueName: "id"))
  var id: String?

  @Option(help: ArgumentHelp("How long to wait for the result.", valueName: "seconds"))
  var timeout = 10

  @Flag(help: "Print the result as JSON.")
  var json = false

  /// Sends the command and prints its result.
  ///
  /// - Throws: `Failure`, or an exit code with `--json`, unless the result is a success.
  func send(_ command: Command, of kind: Command.Kind) async throws {
    let source = Source(kind: kind, name: name)
    if let flaw = source.flaw { throw ValidationError(flaw) }
    guard let id = Request.ID(id ?? UUID().uuidString) else {
      throw ValidationError("An id is 1 to 64 of A-Z a-z 0-9 _ -.")
    }
    guard timeout > 0 else { throw ValidationError("Wait for at least one second.") }
    let request = Request(id: id, sentAt: .now, command: command)
    let client = try await KioskClient(
      try configuration.load(), as: source, timeout: .seconds(timeout))
    let result: CommandResult
    do {
      result = try await client.send(request, timeout: .seconds(timeout)) { accepted in
        if !json { StandardOutput.write(accepted.summary) }
      }
    } catch {
      await client.disconnect()
      throw error
    }
    await client.disconnect()
    if json {
      StandardOutput.write(String(decoding: result.payload, as: UTF8.self))
    } else if Failure(result) == nil {
      StandardOutput.write(result.summary)
    }
    if let failure = Failure(result) {
      throw json ? ExitCode(failure.status.rawValue) as any Error : failure
    }
  }
}
