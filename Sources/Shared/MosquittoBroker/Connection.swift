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

/// Called once by whoever is first: `mosquitto_lib_init` is not safe to call from two threads.
private let library: Int32 = mosquitto_lib_init()

/// A libmosquitto handle for the life of one connection, so that nothing is carried over to the
/// next: libmosquitto would send again by itself what was not confirmed.
///
/// Sendable because one thread at a time has it: the `Connector`'s, until its mutex hands the
/// connection over, and then the event loop's. The last reference closes and frees it.
final class Connection: @unchecked Sendable {
  /// More than this is not read into one batch, however small its messages or few.
  static let batchBytes = 8 << 20

  let start: Session.Start
  let inbox: Inbox
  let handle: OpaquePointer
  let usesTLS: Bool
  let keepAlive: UInt16
  /// The broker has accepted the connection.
  private(set) var hasConnectAck = false
  /// The numbers of the SUBSCRIBEs that are not answered yet, by packet id.
  var subscriptions: [Int32: Int] = [:]
  var nextMisc: ContinuousClock.Instant
  /// The last read stopped before the socket was known to be empty.
  private(set) var hasMore = false
  /// Something may be half written.
  private(set) var isMidWrite = false

  /// Resolves the name, connects and loads the certificates; blocks meanwhile. The CONNECT is queued
  /// and leaves with the first `write`.
  init(
    _ configuration: MosquittoClient.Configuration, _ address: BrokerAddress,
    _ options: SessionOptions, _ start: Session.Start
  ) throws(BrokerError) {
    _ = library
    guard let handle = mosquitto_new(options.clientID, start != .resume, nil) else {
      throw .connectionRefused("\"\(options.clientID)\" is no client id")
    }
    self.start = start
    self.handle = handle
    inbox = Inbox(clientID: options.clientID, limits: options.limits)
    usesTLS = configuration.tls != nil
    keepAlive = max(options.keepAlive, 5)
    nextMisc = .now + .seconds(1)
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

  /// Until the CONNECT is out TLS waits for the broker, never for room: to ask whether the socket
  /// takes more would answer yes at once, again and again.
  var waitsForSocketSpace: Bool { wantsWrite && (!usesTLS || hasConnectAck) }

  /// Reads until the socket is empty, the batch is full or the greeting is in.
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
      // EAGAIN alone proves nothing: the library writes a byte for each packet that it queues into a
      // socket pair nobody reads here, and that fills up (`packet__queue`).
      if inbox.count == before, isEmpty || !hasConnectAck { return }
    } while inbox.deliveries.count < limit && inbox.bytes < Self.batchBytes
    hasMore = true
  }

  /// Writes what is queued, as far as the socket takes it.
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

  /// Sends a PINGREQ where one is due, and notices when none is answered. Before the CONNACK there is none
  /// to send, and libmosquitto would end after the keep-alive time what the session may still wait for.
  func misc(at now: ContinuousClock.Instant) throws(BrokerError) {
    nextMisc = now + .seconds(1)
    if hasConnectAck { try check(mosquitto_loop_misc(handle)) }
  }

  /// Sends the DISCONNECT (3.14), without acknowledging what is in hand.
  ///
  /// libmosquitto's own would leave behind the PUBACKs in its queue, and its socket is closed at once:
  /// a reset for what is unread may overtake the DISCONNECT, and the will is published after all. So
  /// the two bytes go straight to the socket, except with TLS or behind half a packet.
  ///
  /// - Returns: whether the broker's end of the connection will tell that it has understood.
  func disconnect(acknowledging: Bool) -> Bool {
    if !usesTLS, !isMidWrite, !(acknowledging && wantsWrite), let socket {
      return Self.disconnectPacket.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, 0) }
        == 2
    }
    if acknowledging {
      mosquitto_disconnect(handle)
      try? write()
    }
    return false
  }

  private static let disconnectPacket: [UInt8] = [0xE0, 0]

  /// Sends TCP's own acknowledgement now, not 40 ms later. A broker that leaves Nagle's algorithm on,
  /// as mosquitto does unless `set_tcp_nodelay` is set, holds back the next order until it comes: one
  /// order after the other took 44 ms each, and takes 0.19 ms with this. It holds for one read only.
  private func acknowledgeAtOnce() {
    #if canImport(Glibc) || canImport(Musl)
    guard let socket else { return }
    var on: Int32 = 1
    setsockopt(socket, Int32(IPPROTO_TCP), TCP_QUICKACK, &on, socklen_t(MemoryLayout<Int32>.size))
    #endif
  }

  private func cork(_ on: Int32) {
    #if canImport(Glibc) || canImport(Musl)
    // TCP_NODELAY sends each packet by itself; held together they cost one segment, not one each.
    guard let socket else { return }
    var on = on
    setsockopt(socket, Int32(IPPROTO_TCP), TCP_CORK, &on, socklen_t(MemoryLayout<Int32>.size))
    #endif
  }

  /// - Throws: why the connection is gone, if it is. A DISCONNECT from the broker closes the socket
  ///   and is no failure of the call that read it.
  private func check(_ code: Int32) throws(BrokerError) {
    let error = errno
    guard code != MOSQ_ERR_SUCCESS.code || socket == nil else { return }
    if let connectAck = inbox.connectAck, connectAck.code != 0 { return }
    if let disconnectReason = inbox.disconnectReason,
      disconnectReason.code >= MQTT_RC_UNSPECIFIED.rawValue
    {
      throw BrokerError(disconnect: disconnectReason.code, reason: disconnectReason.reason)
    }
    // EPROTO is what `net__handle_ssl` makes of every failure.
    if usesTLS, !hasConnectAck, !inbox.tlsErrors.isEmpty || error == EPROTO {
      throw BrokerError(tlsErrors: inbox.tlsErrors)
    }
    switch code {
    case MOSQ_ERR_SUCCESS.code, MOSQ_ERR_CONN_LOST.code, MOSQ_ERR_NO_CONN.code:
      throw .closedByBroker
    case MOSQ_ERR_KEEPALIVE.code:
      throw .connectionLost("no sign of life for the keep-alive time of \(keepAlive) s")
    case MOSQ_ERR_ERRNO.code: throw .connectionLost(systemError(error))
    default: throw .connectionLost(String(cString: mosquitto_strerror(code)))
    }
  }
}
