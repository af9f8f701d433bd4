package import Foundation

package struct TestSupportError: Error, CustomStringConvertible {
  package let description: String
}

/// Starts other programs, without a shell.
package enum Command {
  /// Starts a program that runs until `end`, and returns its process id.
  package static func spawn(_ arguments: String..., output: String) throws -> pid_t {
    try spawn(arguments, output: output)
  }

  /// Runs a program and waits for its end; throws unless it succeeds.
  package static func run(_ arguments: String...) throws { try run(arguments) }

  package static func run(_ arguments: [String]) throws {
    let pid = try spawn(arguments, output: "/dev/null")
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    guard status == 0 else {
      throw TestSupportError(description: "\(arguments) failed: \(status)")
    }
  }

  /// Signals a process repeatedly until it ends: a mosquitto that has just begun to listen loses a
  /// SIGTERM (`main` sets `run` after installing the handlers that clear it).
  package static func end(_ pid: pid_t, with signal: Int32) {
    while true {
      kill(pid, signal)
      // A stopped process handles a signal only after SIGCONT.
      kill(pid, SIGCONT)
      for _ in 0..<100 {
        if waitpid(pid, nil, WNOHANG) != 0 { return }
        usleep(10_000)
      }
    }
  }

  package static func spawn(_ arguments: [String], output: String) throws -> pid_t {
    #if canImport(Darwin)
    var actions: posix_spawn_file_actions_t?
    var attributes: posix_spawnattr_t?
    #else
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    #endif
    // A child inherits the signal mask, and the threads of the pool block SIGTERM.
    var noSignals = sigset_t()
    sigemptyset(&noSignals)
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setsigmask(&attributes, &noSignals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
    var strings: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
    strings.append(nil)
    defer { for string in strings { free(string) } }
    var pid: pid_t = 0
    let failure = posix_spawnp(&pid, arguments[0], &actions, &attributes, strings, environ)
    guard failure == 0 else {
      throw TestSupportError(
        description: "\(arguments[0]) cannot be started: \(String(cString: strerror(failure)))")
    }
    return pid
  }
}
