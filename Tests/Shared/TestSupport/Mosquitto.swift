package import Foundation
import Synchronization

/// A mosquitto process on a free loopback port, with its own folder.
package final class Mosquitto: BrokerServer {
  package struct Options: Sendable {
    /// Names and passwords of the accounts; empty allows anonymous clients.
    package var users: [String: String] = [:]
    /// Lines of an access control file.
    package var accessControl: String?
    package var tls: Certificates?
    package var requiresClientCertificate = false
    /// Further lines of the configuration file.
    package var configuration = ""

    package init() {}
  }

  package let port: UInt16
  /// The port where all logins are refused.
  package let refusingPort: UInt16
  package let folder: URL
  private let options: Options
  private let process = Mutex<pid_t?>(nil)

  package init(_ options: Options = Options()) throws {
    self.options = options
    port = try LoopbackSocket.freePort()
    refusingPort = try LoopbackSocket.freePort()
    folder = FileManager.default.temporaryDirectory.appending(
      path: "mosquitto-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    do {
      try writeConfiguration()
      try start()
    } catch {
      tearDown()
      throw error
    }
  }

  /// Starts mosquitto at the same address, and waits until it accepts connections.
  package func start() throws {
    let pid = try Command.spawn(
      "mosquitto", "-c", path("mosquitto.conf"), output: path("output"))
    process.withLock { $0 = pid }
    try LoopbackSocket.waitUntilListening(on: port)
  }

  /// Stops mosquitto regularly: it saves sessions and retained messages.
  package func stop() { end(SIGTERM) }

  /// Kills mosquitto, as a power cut does: unsaved state is lost.
  package func kill() { end(SIGKILL) }

  /// Suspends mosquitto without closing connections, until `resume`.
  package func freeze() { signal(SIGSTOP) }
  package func resume() { signal(SIGCONT) }

  /// Deletes the state that `stop` has saved.
  package func eraseStore() {
    try? FileManager.default.removeItem(atPath: path("mosquitto.db"))
  }

  /// The log of the running and earlier processes.
  package var log: String {
    (try? String(contentsOfFile: path("log"), encoding: .utf8)) ?? ""
  }

  /// No credentials: clients are anonymous unless the test configures accounts.
  package var login: (name: String, password: String)? { nil }

  package func endedConnections(of clientID: String) -> Int {
    log.split(separator: "\n").count { line in
      guard let said = line.firstRange(of: "Client \(clientID) ") else { return false }
      let rest = line[said.upperBound...]
      // As mosquitto 2.0 and 2.1 write it.
      return rest.hasPrefix("closed") || rest.contains("disconnected: connection closed")
    }
  }

  package func tearDown() {
    kill()
    try? FileManager.default.removeItem(at: folder)
  }

  package func path(_ name: String) -> String { folder.appending(path: name).path }

  private func end(_ signal: Int32) {
    process.withLock { pid in
      if let pid { Command.end(pid, with: signal) }
      pid = nil
    }
  }

  private func signal(_ signal: Int32) {
    process.withLock { if let pid = $0 { _ = Foundation.kill(pid, signal) } }
  }

  private func writeConfiguration() throws {
    // Without `user`, a mosquitto started by root switches to an account that may not read this
    // folder.
    var lines = [
      "user \(NSUserName())", "set_tcp_nodelay true",
      "persistence true", "persistence_location \(folder.path)/", "autosave_interval 1800",
      "log_dest file \(path("log"))", "log_type all", "max_queued_messages 10000",
      // This listener refuses anonymous clients by `use_username_as_clientid`, and others by the
      // passwords. `per_listener_settings true` would not keep messages for disconnected clients,
      // from mosquitto 2.0.12 on (its issue #2618).
      "listener \(refusingPort) 127.0.0.1", "use_username_as_clientid true",
      "listener \(port) 127.0.0.1",
      "allow_anonymous \(options.users.isEmpty)", "password_file \(path("passwords"))",
    ]
    try Data().write(to: folder.appending(path: "passwords"))
    for (name, password) in options.users {
      try Command.run("mosquitto_passwd", "-b", path("passwords"), name, password)
    }
    if let rules = options.accessControl {
      try Data(rules.utf8).write(to: folder.appending(path: "acl"))
      lines.append("acl_file \(path("acl"))")
    }
    if let tls = options.tls {
      lines += ["cafile \(tls.ca)", "certfile \(tls.certificate)", "keyfile \(tls.key)"]
      if options.requiresClientCertificate { lines.append("require_certificate true") }
    }
    lines.append(options.configuration)
    try Data(lines.joined(separator: "\n").appending("\n").utf8)
      .write(to: folder.appending(path: "mosquitto.conf"))
  }
}

/// Runs a test with its own mosquitto, and removes it afterwards.
package func withMosquitto(
  _ change: (inout Mosquitto.Options) -> Void = { _ in },
  _ test: (Mosquitto) async throws -> Void
) async throws {
  var options = Mosquitto.Options()
  change(&options)
  let server = try Mosquitto(options)
  defer { server.tearDown() }
  try await test(server)
}
