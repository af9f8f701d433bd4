import KioskTestSupport
import MessageBroker
import MosquittoBroker
import Synchronization

/// The real thing: a mosquitto of its own, and a proxy before each client to cut its connection at.
final class MosquittoFixture: BrokerFixture {
  private struct State {
    var proxies: [String: [Proxy]] = [:]
    var refusesLogins = false
  }

  let server: Mosquitto
  private let version: MosquittoBroker.Configuration.ProtocolVersion
  private let state = Mutex(State())

  init(_ version: MosquittoBroker.Configuration.ProtocolVersion) throws {
    self.version = version
    server = try Mosquitto()
  }

  var patience: Duration { .milliseconds(200) }

  func client(_ clientID: String) throws -> any MessageBroker {
    let refuses = state.withLock { $0.refusesLogins }
    let proxy = try Proxy(to: refuses ? server.refusingPort : server.port)
    state.withLock { $0.proxies[clientID, default: []].append(proxy) }
    return MosquittoBroker(.loopback(proxy.port, version))
  }

  func cutConnection(ofClient clientID: String) throws {
    let noticed = { self.server.log.split(separator: "Client \(clientID) closed").count }
    let before = noticed()
    for proxy in state.withLock({ $0.proxies[clientID] ?? [] }) { proxy.cut() }
    try waitUntil("the broker has noticed") { noticed() > before }
  }

  func stop() { server.stop() }

  func restart(keepingSessions: Bool) throws {
    if !keepingSessions { server.eraseStore() }
    try server.start()
  }

  func refuseLogins() {
    state.withLock { state in
      state.refusesLogins = true
      for proxy in state.proxies.values.joined() { proxy.redirect(to: server.refusingPort) }
    }
  }

  func letPass(_ duration: Duration) async throws { try await Task.sleep(for: duration) }

  func letReconnect() {}

  func nextEvent(of client: any MessageBroker, timeout: Duration) async -> BrokerEvent? {
    await client.nextEvent(timeout: timeout)
  }

  func tearDown() {
    for proxy in state.withLock({ $0.proxies.values.joined() }) { proxy.tearDown() }
    server.tearDown()
  }
}

extension MosquittoBroker.Configuration {
  /// A broker on this computer, with reconnects that a test can wait for.
  static func loopback(_ port: UInt16, _ version: ProtocolVersion = .v5) -> Self {
    var configuration = Self(host: "127.0.0.1", port: port, protocolVersion: version)
    configuration.reconnectDelays = .milliseconds(20) ... .milliseconds(200)
    return configuration
  }
}
