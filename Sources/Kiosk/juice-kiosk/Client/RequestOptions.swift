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
      "The sender's name, the last level of the topic.",
      valueName: "name"))
  var name = "terminal"

  @Option(
    help: ArgumentHelp(
      "The request's id; use the same one to repeat an unanswered request.",
      valueName: "id"))
  var id: String?

  @Option(help: ArgumentHelp("How long to wait for the result.", valueName: "seconds"))
  var timeout = 10

  @Flag(help: "Print the result as JSON.")
  var json = false

  /// Sends the command and prints its result.
  ///
  /// - Throws: `ValidationError` for an invalid option. Another error if there is no result, or the result
  ///   cannot be printed. `Failure`, or with `--json` its exit code, if the result reports a failure.
  func send(_ command: Command, of kind: Command.Kind) async throws {
    let source = Source(kind: kind, name: name)
    if let flaw = source.flaw { throw ValidationError(flaw) }
    guard let id = Request.ID(id ?? UUID().uuidString) else {
      throw ValidationError("An id is 1 to 64 of A-Z a-z 0-9 _ -.")
    }
    guard timeout > 0 else { throw ValidationError("--timeout is at least 1.") }
    let request = Request(id: id, sentAt: .now, command: command)
    let settings = try configuration.load()
    // The user must see which kiosk the command changes.
    if configuration.file == nil, ProcessInfo.processInfo.environment["KIOSK_KIOSK_ID"] == nil {
      let kiosk = try await settings.describeKiosk(timeout: .seconds(timeout))
      StandardError.write("juice-kiosk: \(kiosk)".wrapped(to: StandardError.width))
    }
    let client = try await KioskClient(settings, as: source, timeout: .seconds(timeout))
    let result: CommandResult
    do {
      result = try await client.send(request, timeout: .seconds(timeout)) { accepted in
        // The final result follows. If it cannot be printed either, the command reports that error.
        if !json { try? StandardOutput.write(accepted.summary) }
      }
    } catch {
      await client.disconnect()
      throw error
    }
    await client.disconnect()
    let isDone = Failure(result) == nil
    let change =
      (isDone ? "the kiosk has carried this out: " : "the kiosk has answered: ") + result.summary
    if json {
      try StandardOutput.write(json: result.payload, after: change)
    } else if isDone {
      try StandardOutput.write(result.summary, after: change)
    }
    if let failure = Failure(result) {
      if json { throw failure.status }
      guard result.reason == .unknownJuice || result.reason == .unknownFruit,
        let hint = await settings.suggestion(for: command, timeout: .seconds(timeout))
      else { throw failure }
      throw Failure(status: failure.status, message: "\(failure.message); \(hint)")
    }
  }
}
