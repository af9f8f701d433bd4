package import ArgumentParser

extension AsyncParsableCommand {
  /// Runs the command that was asked for, and turns an error into a line on standard error and an
  /// exit code: nobody else does.
  package static func runToTheEnd() async {
    do {
      var command = try parseAsRoot()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch let failure as Failure {
      StandardError.write("\(configuration.commandName ?? _commandName): \(failure.message)")
      exit(withError: failure.status)
    } catch {
      exit(withError: error)
    }
  }
}
