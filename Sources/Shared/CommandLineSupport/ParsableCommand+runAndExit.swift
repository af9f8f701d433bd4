package import ArgumentParser
import Dispatch

/// A command with a part that runs before any other thread exists.
///
/// A switch of the user in this part applies to all threads. Later, setuid(2) relies on glibc to
/// switch every thread, and glibc misses the main thread of an async `main`, which Dispatch has
/// parked.
package protocol PreparedCommand: AsyncParsableCommand {
  /// - Returns: The rest of the command.
  func prepare() throws -> @Sendable () async throws -> Void
}

extension PreparedCommand {
  package func run() async throws { try await prepare()() }
}

extension ParsableCommand {
  /// Runs the selected command. The only place that turns an error into a line on standard error
  /// and an exit code.
  package static func runAndExit() -> Never {
    do {
      var command = try parseAsRoot()
      switch command {
      case let command as any PreparedCommand: runAsync(try command.prepare())
      case is any AsyncParsableCommand:
        runAsync {
          // Parsed again, because a command value must not be passed to another thread.
          var command = try parseAsRoot() as? any AsyncParsableCommand
          try await command?.run()
        }
      default:
        try command.run()
        exit()
      }
    } catch {
      exit(reporting: error)
    }
  }

  private static func runAsync(_ rest: @escaping @Sendable () async throws -> Void) -> Never {
    Task {
      do {
        try await rest()
        exit()
      } catch {
        exit(reporting: error)
      }
    }
    dispatchMain()
  }

  private static func exit(reporting error: any Error) -> Never {
    guard let failure = (error as? any ExitCodeConvertible)?.failure else { exit(withError: error) }
    StandardError.write("\(configuration.commandName ?? _commandName): \(failure.message)")
    exit(withError: failure.status)
  }
}
