package import ArgumentParser
import Dispatch
import Foundation
import YAMLConfiguration

/// A command with a part that runs before any other thread exists.
///
/// A switch of the user in this part applies to all threads. Later, setuid(2) relies on glibc to
/// switch every thread, and glibc misses the main thread of an async `main`, which Dispatch has
/// suspended.
package protocol PreparedCommand: AsyncParsableCommand {
  /// Runs the part of the command that must run before any other thread exists.
  ///
  /// - Returns: The rest of the command.
  func prepare() throws -> @Sendable () async throws -> Void
}

extension PreparedCommand {
  package func run() async throws { try await prepare()() }
}

extension ParsableCommand {
  /// Runs the selected command. No other code turns an error into a message on standard error and
  /// an exit code.
  ///
  /// - Parameter daemon: The name of a command that reads its configuration again on SIGHUP, or
  ///   `nil` if there is none. Until it traps the signal, it needs no reload; the default action of the
  ///   signal, and of SIGUSR1 and SIGUSR2, would end the program.
  package static func runAndExit(daemon: String? = nil) -> Never {
    if let daemon, CommandLine.arguments.dropFirst().first == daemon {
      for number in [SIGHUP, SIGUSR1, SIGUSR2] { signal(number, SIG_IGN) }
    }
    prepareStandardStreams()
    do {
      var command = try parseAsRoot()
      switch command {
      case let command as any PreparedCommand: runAsync(try command.prepare())
      case is any AsyncParsableCommand:
        runAsync {
          // Parses the command again, because a command value cannot be sent to another thread.
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
    var error = error
    if exitCode(for: error) == .validationFailure, let mistake = misspelledCommand {
      error = mistake
    }
    // The "error" is a help page, the version or a completion script. ArgumentParser would ignore a
    // failed write to standard output.
    if exitCode(for: error) == .success, !(error is ExitCode) {
      do throws(Failure) {
        try StandardOutput.write(fullMessage(for: error))
        exit()
      } catch let failure {
        error = failure
      }
    }
    guard let failure = (error as? any ExitCodeConvertible)?.failure else { exit(withError: error) }
    let message = "\(configuration.commandName ?? _commandName): \(failure.message)"
    StandardError.write(message.wrapped(to: StandardError.width))
    exit(withError: failure.status)
  }

  /// An error that names the first word that is not a command, and suggests a command; or `nil` if
  /// no such word precedes the options. ArgumentParser suggests options only.
  private static var misspelledCommand: ValidationError? {
    var commands = configuration.subcommands
    for word in CommandLine.arguments.dropFirst() where !commands.isEmpty && word != "help" {
      let names = commands.map { $0.configuration.commandName ?? $0._commandName }
      guard let index = names.firstIndex(of: word) else {
        guard !word.hasPrefix("-"), let hint = Suggestion.hint(for: word, among: names) else {
          return nil
        }
        return ValidationError("There is no command '\(word)'; \(hint)")
      }
      commands = commands[index].configuration.subcommands
    }
    return nil
  }
}
