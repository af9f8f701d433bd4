import Foundation
import Synchronization

/// RabbitMQ or ejabberd from Debian's packages, on free loopback ports with its own folder.
package final class OtherBroker: BrokerServer {
  package enum Make: String, Sendable {
    /// RabbitMQ with rabbitmq_mqtt, which supports MQTT 3.1.1.
    case rabbitMQ = "rabbitmq"
    /// ejabberd with mod_mqtt.
    case ejabberd
  }

  package let port: UInt16
  package var refusingPort: UInt16 { port }
  private let make: Make
  private let folder: URL
  /// Ports for the discovery and the connections of Erlang nodes.
  private let morePorts: [UInt16]
  private let process = Mutex<pid_t?>(nil)

  package init(_ make: Make) throws {
    self.make = make
    port = try LoopbackSocket.freePort()
    morePorts = try [LoopbackSocket.freePort(), LoopbackSocket.freePort()]
    folder = FileManager.default.temporaryDirectory.appending(path: "\(make)-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    do {
      try start()
    } catch {
      tearDown()
      throw error
    }
  }

  /// The account that exists initially.
  package var login: (name: String, password: String)? {
    (make == .ejabberd ? "guest@localhost" : "guest", "guest")
  }

  package func start() throws {
    let script = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../other-broker").standardized.path
    let ports = ([port] + morePorts).map { "\($0)" }
    let pid = try Command.spawn(
      [script, make.rawValue, folder.path] + ports + ["debug"], output: path("output"))
    process.withLock { $0 = pid }
    try LoopbackSocket.waitUntilListening(on: port, within: .seconds(90))
    try waitUntil("it lets clients in") { FileManager.default.fileExists(atPath: path("ready")) }
  }

  package func stop() { end(SIGTERM) }

  package func eraseStore() { try? FileManager.default.removeItem(atPath: path("store")) }

  package func tearDown() {
    end(SIGKILL)
    if let mapper = try? String(contentsOfFile: path("epmd.pid"), encoding: .utf8),
      let pid = pid_t(mapper.trimmingCharacters(in: .whitespacesAndNewlines))
    {
      kill(pid, SIGKILL)
    }
    try? FileManager.default.removeItem(at: folder)
  }

  package func endedConnections(of clientID: String) -> Int {
    let log = (try? String(contentsOfFile: path("log"), encoding: .utf8)) ?? ""
    let sign =
      switch make {
      // The log line contains only the address, and in a test one connection ends at a time.
      case .rabbitMQ: "peer closed TCP connection"
      case .ejabberd: "for guest@localhost/\(clientID) from 127.0.0.1: Connection failed"
      }
    return log.split(separator: sign, omittingEmptySubsequences: false).count - 1
  }

  private func path(_ name: String) -> String { folder.appending(path: name).path }

  private func end(_ signal: Int32) {
    process.withLock { pid in
      if let pid { Command.end(pid, with: signal) }
      pid = nil
    }
  }
}
