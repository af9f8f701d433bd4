import MessageBroker
import MosquittoBroker
import Synchronization
import TestSupport

/// A real server for one test, with a proxy before each client to break its connection.
final class ServerFixture: BrokerFixture {
  private struct State {
    var proxies: [String: [Proxy]] = [:]
    var clients: [MosquittoClient] = []
    var refusesLogins = false
    var isStopped = false
  }

  private let server: any BrokerServer
  private let version: MosquittoClient.Configuration.ProtocolVersion
  private let state = Mutex(State())

  init(
    _ server: any BrokerServer, _ version: MosquittoClient.Configuration.ProtocolVersion
  ) {
    self.version = version
    self.server = server
  }

  var quietPeriod: Duration { .milliseconds(200) }

  func client(_ clientID: String) throws -> any BrokerClient {
    let proxy = try Proxy(to: server.port)
    var configuration = MosquittoClient.Configuration.loopback(proxy.port, version)
    (configuration.username, configuration.password) = (server.login?.name, server.login?.password)
    return try state.withLock { state in
      if state.refusesLogins {
        proxy.redirect(to: server.refusingPort)
        (configuration.username, configuration.password) = ("nobody", "nothing")
      }
      if state.isStopped { proxy.close() }
      state.proxies[clientID, default: []].append(proxy)
      state.clients.append(try MosquittoClient(configuration))
      return state.clients[state.clients.count - 1]
    }
  }

  func cutConnection(ofClient clientID: String) throws {
    let before = server.endedConnections(of: clientID)
    for proxy in state.withLock({ $0.proxies[clientID] ?? [] }) { proxy.close() }
    try waitUntil("the broker has noticed") { server.endedConnections(of: clientID) > before }
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
    for client in state.withLock(\.clients) { await client.advanceClock(by: duration) }
    if !state.withLock({ $0.isStopped }) { try letReconnect() }
  }

  func letSessionExpire(ofClient clientID: String, _ expiry: Duration) async throws {
    if let server = server as? Mosquitto {
      try waitUntil("the session has expired") {
        server.log.contains("Expiring client \(clientID)")
      }
    } else {
      _ = try await letMessagesAge(expiry)
    }
  }

  /// Waits in real time, because the server's clock cannot be advanced.
  func letMessagesAge(_ duration: Duration) async throws -> Duration {
    let start = ContinuousClock.now
    // Brokers count whole seconds.
    try waitUntil("that long has passed") { .now - start > duration + .seconds(1) }
    return .now - start
  }

  func refuseConnections() { for proxy in allProxies { proxy.refuse() } }

  /// Opens the proxies that `cutConnection` or `refuseConnections` has closed: with the short delays of tests the
  /// client would otherwise reconnect before the test has observed the outage.
  func letReconnect() throws { for proxy in allProxies { try proxy.open() } }

  func nextEvent(of client: any BrokerClient, timeout: Duration) async -> BrokerEvent? {
    await client.nextEvent(timeout: timeout)
  }

  private var allProxies: [Proxy] { state.withLock { $0.proxies.values.flatMap(\.self) } }

  func tearDown() {
    for proxy in allProxies { proxy.tearDown() }
    server.tearDown()
  }
}

extension MosquittoClient.Configuration {
  /// Returns the configuration for a broker on this computer, with short reconnect delays.
  static func loopback(_ port: UInt16, _ version: ProtocolVersion = .v5) -> Self {
    var configuration = Self(host: "127.0.0.1", port: port, protocolVersion: version)
    configuration.reconnectDelays = .milliseconds(20) ... .milliseconds(200)
    // Long, so that a busy machine is not mistaken for an unresponsive broker.
    configuration.connectTimeout = .seconds(60)
    return configuration
  }
}
