import CMosquitto
import MessageBroker
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The result of `mosquitto_lib_init`, called once: calling it from two threads is not safe.
private let library: Int32 = mosquitto_lib_init()

/// A libmosquitto handle for a single connection.
///
/// Each connection gets a new handle, because libmosquitto would resend unconfirmed messages from
/// the previous connection by itself.
///
/// Sendable because one thread at a time uses it: the thread of the `Connector` until its mutex
/// hands over the connection, then the thread of the event loop. Releasing the last reference
/// closes the socket and frees the handle.
final class Connection: @unchecked Sendable {
  /// The number of bytes at which reading into a batch stops, whatever the number of messages.
  static let batchBytes = 8 << 20

  let start: Session.Start
  let inbox: Inbox
  let handle: OpaquePointer
  let usesTLS: Bool
  let keepAlive: UInt16
  /// Whether the broker has accepted the connection.
  private(set) var hasConnectAck = false
  /// Numbers of the SUBSCRIBEs that await a SUBACK, by packet id.
  var subscriptions: [Int32: Int] = [:]
  var nextMisc: ContinuousClock.Instant
  /// Whether the last read stopped before the socket was known to be empty.
  private(set) var hasMore = false
  private let version: MosquittoClient.Configuration.ProtocolVersion
  /// Whether a packet may be partly written.
  private(set) var isMidWrite = false

  /// Resolves the host name, connects and loads the certificates; blocks until that is done. The
  /// CONNECT is queued; the first `write` sends it.
  init(
    _ configuration: MosquittoClient.Configuration, _ address: BrokerAddress,
    _ options: SessionOptions, _ start: Session.Start
  ) throws(BrokerError) {
    _ = library
    guard let handle = mosquitto_new(options.clientID, start != .resume, nil) else {
      throw .connectionRefused("\"\(options.clientID)\" is not a client id")
    }
    self.start = start
    self.handle = handle
    inbox = Inbox(clientID: options.clientID, limits: options.limits)
    usesTLS = configuration.tls != nil
    keepAlive = max(options.keepAlive, 5)
    nextMisc = .now + .seconds(1)
    version = configuration.protocolVersion
    inbox.installCallbacks(on: handle)
    try configure(configuration, options)
    try open(configuration, address, options)
  }

  deinit { mosquitto_destroy(handle) }

  var socket: Int32? {
    let socket = mosquitto_socket(handle)
    return socket < 0 ? nil : socket
  }

  var wantsWrite: Bool { mosquitto_want_write(handle) }

  /// Whether poll(2) has to wait until the socket is writable.
  ///
  /// Before the CONNECT is sent, TLS waits for data from the broker, not for buffer space: poll(2)
  /// would report the socket as writable each time, and the loop would spin.
  var waitsForSocketSpace: Bool { wantsWrite && (!usesTLS || hasConnectAck) }

  /// Reads until the socket is empty, the batch is full or the CONNACK has arrived.
  func read(upTo limit: Int) throws(BrokerError) {
    hasMore = false
    defer { acknowledgeAtOnce() }
    repeat {
      let before = inbox.count
      errno = 0
      let code = mosquitto_loop_read(handle, 1)
      let isEmpty = errno == EAGAIN || errno == EWOULDBLOCK
      try check(code)
      if let connectAck = inbox.connectAck, !hasConnectAck {
        hasConnectAck = connectAck.code == 0
        hasMore = hasConnectAck
        return
      }
      // EAGAIN alone is not sufficient: for each queued packet libmosquitto also writes a byte to a
      // socket pair that is never read here, and that write fails once the pair is full
      // (`packet__queue`).
      if inbox.count == before, isEmpty || !hasConnectAck { return }
    } while inbox.deliveries.count < limit && inbox.bytes < Self.batchBytes
    hasMore = true
  }

  /// Writes the queued packets, as far as the socket accepts them.
  func write() throws(BrokerError) {
    let corks = hasConnectAck && !usesTLS
    if corks { cork(1) }
    let code = mosquitto_loop_write(handle, 1)
    let error = errno
    if corks { cork(0) }
    errno = error
    try check(code)
    isMidWrite = wantsWrite
  }

  /// Sends a PINGREQ if one is due, and detects an unanswered one.
  ///
  /// Does nothing before the CONNACK: libmosquitto sends no PINGREQ yet, and would close the
  /// connection after the keep-alive time, although the session may still wait for the CONNACK.
  func misc(at now: ContinuousClock.Instant) throws(BrokerError) {
    nextMisc = now + .seconds(1)
    if hasConnectAck { try check(mosquitto_loop_misc(handle)) }
  }

  /// Sends the DISCONNECT (3.14), with `acknowledging` after the queued packets.
  ///
  /// `mosquitto_disconnect` sends the PUBACKs in its queue first, and closes the socket at once.
  /// Closing with unread data sends a reset that may overtake the DISCONNECT, and the broker
  /// publishes the will. So this function writes the two bytes directly to the socket if no packet
  /// must precede them. With TLS or after a partly written packet this is not possible: without
  /// `acknowledging`, the function then sends no DISCONNECT.
  ///
  /// - Returns: Whether the broker will close the connection when it has processed the DISCONNECT.
  func disconnect(acknowledging: Bool) -> Bool {
    if !usesTLS, !isMidWrite, !(acknowledging && wantsWrite), let socket {
      return Self.disconnectPacket.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, 0) }
        == 2
    }
    if acknowledging {
      mosquitto_disconnect(handle)
      // If this fails, the broker ends the connection as a lost one.
      try? write()
    }
    return false
  }

  private static let disconnectPacket: [UInt8] = [0xE0, 0]

  /// Sends the TCP acknowledgement immediately instead of up to 40 ms later (TCP_QUICKACK).
  ///
  /// A broker that uses Nagle's algorithm, as mosquitto does unless `set_tcp_nodelay` is set,
  /// delays the next order until this acknowledgement: consecutive orders took 44 ms each without
  /// this option, and 0.19 ms with it. It is valid for one read only. macOS does not have it.
  private func acknowledgeAtOnce() {
    #if canImport(Glibc) || canImport(Musl)
    guard let socket else { return }
    var on: Int32 = 1
    setsockopt(socket, Int32(IPPROTO_TCP), TCP_QUICKACK, &on, socklen_t(MemoryLayout<Int32>.size))
    #endif
  }

  private func cork(_ on: Int32) {
    #if canImport(Glibc) || canImport(Musl)
    // TCP_NODELAY sends one segment per packet; TCP_CORK combines the packets of one write.
    guard let socket else { return }
    var on = on
    setsockopt(socket, Int32(IPPROTO_TCP), TCP_CORK, &on, socklen_t(MemoryLayout<Int32>.size))
    #endif
  }

  /// Throws the reason if the connection is closed, unless a CONNACK has reported the reason.
  ///
  /// A DISCONNECT from the broker closes the socket, but the call that read it returns success.
  private func check(_ code: Int32) throws(BrokerError) {
    let error = errno
    guard code != MOSQ_ERR_SUCCESS.code || socket == nil else { return }
    if let connectAck = inbox.connectAck, connectAck.code != 0 { return }
    if let disconnectReason = inbox.disconnectReason,
      disconnectReason.code >= MQTT_RC_UNSPECIFIED.rawValue
    {
      // From 2.1 on, libmosquitto itself disconnects for a topic alias in a received message. This
      // client sends no topic alias that a broker could refuse.
      if disconnectReason.code == MQTT_RC_TOPIC_ALIAS_INVALID.rawValue {
        throw .malformedPacket(BrokerError.text(for: disconnectReason.code))
      }
      throw BrokerError(disconnect: disconnectReason.code, reason: disconnectReason.reason)
    }
    // `net__handle_ssl` maps every failure to EPROTO.
    if usesTLS, !hasConnectAck, !inbox.tlsErrors.isEmpty || error == EPROTO {
      throw BrokerError(tlsErrors: inbox.tlsErrors)
    }
    // From libmosquitto 2.0.21 on, a refused client certificate causes the following errors.
    let guess =
      (usesTLS ? "; it may require a client certificate" : "") + BrokerError.hint(version)
    switch code {
    case MOSQ_ERR_SUCCESS.code, MOSQ_ERR_CONN_LOST.code, MOSQ_ERR_NO_CONN.code:
      guard !hasConnectAck else { throw .closedByBroker }
      throw .connectionLost("the broker closed it during the MQTT handshake\(guess)")
    case MOSQ_ERR_KEEPALIVE.code:
      throw .connectionLost("the broker sent nothing for the keep-alive time of \(keepAlive) s")
    case MOSQ_ERR_ERRNO.code:
      throw .connectionLost(systemError(error) + (hasConnectAck ? "" : guess))
    // libmosquitto checks the properties of incoming messages; each version checks more of them.
    // Brokers relay properties that it rejects (`handle__publish`, `mosquitto_property_check_all`).
    case MOSQ_ERR_PROTOCOL.code, MOSQ_ERR_MALFORMED_PACKET.code, MOSQ_ERR_MALFORMED_UTF8.code,
      MOSQ_ERR_DUPLICATE_PROPERTY.code:
      // Before the login, the rejected packet is the CONNACK. A broker that supports only MQTT
      // 3.1.1 answers in its own format, which libmosquitto 2.0.21 rejects, and 2.0.11 does not.
      guard hasConnectAck || inbox.connectAck != nil else {
        let detail = "its CONNACK cannot be read"
        throw version == .v5 ? .protocolRefused(detail) : .connectionLost(detail)
      }
      throw .malformedPacket(String(cString: mosquitto_strerror(code)))
    default: throw .connectionLost(String(cString: mosquitto_strerror(code)))
    }
  }
}
