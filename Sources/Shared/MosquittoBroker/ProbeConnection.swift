import CMosquitto
package import MessageBroker

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

extension MosquittoClient.Configuration {
  /// Probes the broker at the first address, always with MQTT 5.
  ///
  /// - Throws: `BrokerError` if the broker is not reachable, or refuses or ends the connection.
  package func run(_ probe: BrokerProbe) async throws(BrokerError) -> BrokerProbe.Report {
    // The probe has its own thread: it blocks, and libmosquitto's writes need a blocked SIGPIPE.
    let result = await withCheckedContinuation { done in
      do throws(BrokerError) {
        try startThread {
          done.resume(
            returning: Result { () throws(BrokerError) in
              try ProbeConnection(self, probe).report()
            })
        }
      } catch {
        done.resume(returning: .failure(error))
      }
    }
    return try result.get()
  }
}

/// The connection of a `BrokerProbe`.
private struct ProbeConnection {
  private let connection: Connection
  private let probe: BrokerProbe
  private let timeout: Duration

  /// Connects and waits for the CONNACK.
  init(
    _ configuration: MosquittoClient.Configuration, _ probe: BrokerProbe
  ) throws(BrokerError) {
    var configuration = configuration
    configuration.protocolVersion = .v5
    self.probe = probe
    timeout = configuration.connectTimeout
    let options = SessionOptions(
      clientID: probe.clientID, cleanStart: probe.resuming == nil,
      sessionExpiry: probe.resuming ?? .zero)
    connection = try Connection(
      configuration, configuration.address, options, probe.resuming == nil ? .clean : .resume)
    let inbox = connection.inbox
    try exchange { inbox.connectAck != nil }
    if let connectAck = inbox.connectAck, connectAck.code != 0 {
      throw BrokerError(refusal: connectAck, .v5)
    }
  }

  func report() -> BrokerProbe.Report {
    var report = BrokerProbe.Report()
    guard let connectAck = connection.inbox.connectAck else { return report }
    report.hasResumed = connectAck.resumesSession
    report.limits = connectAck.limits
    // A resumed session belongs to another client: it remains, and deliveries remain
    // unacknowledged. A session that this probe began is ended.
    if probe.resuming != nil, !connectAck.resumesSession { connection.endSession() }
    return report
  }

  private func exchange(until isDone: () -> Bool) throws(BrokerError) {
    let deadline = ContinuousClock.now + timeout
    while !isDone() {
      guard .now < deadline else {
        throw .unreachable("it does not finish the MQTT handshake\(BrokerError.hint(.v5))")
      }
      if connection.wantsWrite { try connection.write() }
      wait(for: connection.waitsForSocketSpace ? POLLIN | POLLOUT : POLLIN, until: deadline)
      try connection.read(upTo: .max)
    }
  }

  private func wait(for events: Int32, until deadline: ContinuousClock.Instant) {
    guard let socket = connection.socket else { return }
    var descriptor = pollfd(fd: socket, events: Int16(events), revents: 0)
    poll(&descriptor, 1, (deadline - .now).pollTimeout)
  }
}

extension Connection {
  /// Sends a DISCONNECT that ends the session as well (MQTT 5, 3.14.2.2.2).
  fileprivate func endSession() {
    var properties = Properties()
    properties.add(MQTT_PROP_SESSION_EXPIRY_INTERVAL, 0)
    mosquitto_disconnect_v5(handle, 0, properties.list)
    // If this fails, the broker ends the session after its session expiry.
    try? write()
  }
}
