import KioskTestSupport
import MessageBroker
import MosquittoBroker
import Synchronization

/// The real thing: a mosquitto of its own, and a proxy before each client to cut its connection at.
final class MosquittoFixture: BrokerFixture {
  private struct State {
    var proxies: [String: [Proxy]] = [:]
    var refusesLogins = false
    var isStopped = false
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
    let proxy = try Proxy(to: server.port)
    state.withLock { state in
      if state.refusesLogins { proxy.redirect(to: server.refusingPort) }
      if state.isStopped { proxy.close() }
      state.proxies[clientID, default: []].append(proxy)
    }
    return MosquittoBroker(.loopback(proxy.port, version))
  }

  func cutConnection(ofClient clientID: String) throws {
    let noticed = { self.server.log.split(separator: "Client \(clientID) closed").count }
    let before = noticed()
    for proxy in state.withLock({ $0.proxies[clientID] ?? [] }) { proxy.close() }
    try waitUntil("the broker has noticed") { noticed() > before }
  }

  func stop() {
    server.stop()
    state.withLock { $0.isStopped = true }
    for proxy in allProxies { proxy.close() }
  }

  func restart(keepingSessions: Bool) throws {
    if !keepingSessions { server.eraseStore() }
    try server.start()
    state.withLock { $0.isStopped = false }
    try letReconnect()
  }

  func refuseLogins() {
    state.withLock { state in
      state.refusesLogins = true
      for proxy in state.proxies.values.joined() { proxy.redirect(to: server.refusingPort) }
    }
  }

  func letPass(_ duration: Duration) async throws {
    if !state.withLock({ $0.isStopped }) { try letReconnect() }
    try await Task.sleep(for: duration)
  }

  /// Until then nothing listens where the client was cut off: with delays of a test's scale it would
  /// be back before the test has looked.
  func letReconnect() throws { for proxy in allProxies { try proxy.open() } }

  func nextEvent(of client: any MessageBroker, timeout: Duration) async -> BrokerEvent? {
    await client.nextEvent(timeout: timeout)
  }

  private var allProxies: [Proxy] { state.withLock { $0.proxies.values.flatMap(\.self) } }

  func tearDown() {
    for proxy in allProxies { proxy.tearDown() }
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
