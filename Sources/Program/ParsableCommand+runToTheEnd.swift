package import ArgumentParser
import Dispatch

/// A command with a part that runs before any other thread exists.
///
/// A change of the user there holds for all threads. Later, setuid(2) relies on glibc to change every
/// thread, and glibc misses the main thread of an async `main`, which Dispatch has parked.
package protocol CommandWithPrelude: AsyncParsableCommand {
  /// - Returns: the rest of the command.
  func begin() throws -> @Sendable () async throws -> Void
}

extension CommandWithPrelude {
  package func run() async throws { try await begin()() }
}

extension ParsableCommand {
  /// Runs the command that was asked for, and turns an error into a line on standard error and an
  /// exit code: nobody else does.
  package static func runToTheEnd() -> Never {
    do {
      var command = try parseAsRoot()
      switch command {
      case let command as any CommandWithPrelude: go(on: try command.begin())
      case is any AsyncParsableCommand:
        go {
          // Parsed once more: a command may not change threads.
          var command = try parseAsRoot() as? any AsyncParsableCommand
          try await command?.run()
        }
      default:
        try command.run()
        exit()
      }
    } catch {
      end(error)
    }
  }

  private static func go(on rest: @escaping @Sendable () async throws -> Void) -> Never {
    Task {
      do {
        try await rest()
        exit()
      } catch {
        end(error)
      }
    }
    dispatchMain()
  }

  private static func end(_ error: any Error) -> Never {
    guard let failure = (error as? any Ending)?.failure else { exit(withError: error) }
    StandardError.write("\(configuration.commandName ?? _commandName): \(failure.message)")
    exit(withError: failure.status)
  }
}
