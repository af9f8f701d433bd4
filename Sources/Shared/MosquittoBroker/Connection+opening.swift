import CMosquitto
import MessageBroker

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

extension Connection {
  func configure(
    _ configuration: MosquittoClient.Configuration, _ options: SessionOptions
  ) throws(BrokerError) {
    // With this setting libmosquitto only queues packets, and `mosquitto_loop_write` sends them.
    // libmosquitto queues the PUBACK of a message before it calls `on_message`
    // (lib/handle_publish.c); `acknowledge()` sends the PUBACK.
    mosquitto_threaded_set(handle, true)
    for (option, value) in [
      (MOSQ_OPT_PROTOCOL_VERSION, configuration.protocolVersion.rawValue),
      (MOSQ_OPT_TCP_NODELAY, 1),
      (MOSQ_OPT_RECEIVE_MAXIMUM, Int32(max(options.receiveMaximum, 1))),
      // The default is 20; the Receive Maximum of an MQTT 5 broker replaces this value.
      (MOSQ_OPT_SEND_MAXIMUM, Int32(UInt16.max)),
    ] {
      mosquitto_int_option(handle, option, value)
    }
    if let username = configuration.username {
      mosquitto_username_pw_set(handle, username, configuration.password)
    }
    if let tls = configuration.tls { try configure(tls) }
    if let will = options.will, start != .wipe {
      try configure(will, configuration.protocolVersion)
    }
  }

  func open(
    _ configuration: MosquittoClient.Configuration, _ address: BrokerAddress,
    _ options: SessionOptions
  ) throws(BrokerError) {
    var properties = Properties()
    if configuration.protocolVersion == .v5, options.sessionExpiry > .zero, start != .wipe {
      // Whole seconds, rounded up: `SessionLifetime` applies the exact limit. 0xFFFFFFFF: no
      // expiry.
      let (seconds, rest) = options.sessionExpiry.components
      properties.add(
        MQTT_PROP_SESSION_EXPIRY_INTERVAL, UInt32(clamping: seconds + (rest > 0 ? 1 : 0)))
    }
    if configuration.protocolVersion == .v5 {
      properties.add(MQTT_PROP_MAXIMUM_PACKET_SIZE, UInt32(clamping: options.limits.packet))
    }
    errno = 0
    let code = mosquitto_connect_bind_v5(
      handle, address.host, Int32(address.port), Int32(keepAlive), nil,
      properties.list)
    let error = errno
    switch code {
    case MOSQ_ERR_SUCCESS.code:
      // Child processes must not inherit the socket: it would stay open after `close`.
      if let socket { _ = fcntl(socket, F_SETFD, FD_CLOEXEC) }
    case MOSQ_ERR_EAI.code:
      throw .unreachable("\(address): \(String(cString: gai_strerror(error)))")
    case MOSQ_ERR_ERRNO.code: throw .unreachable("\(address): \(systemError(error))")
    case MOSQ_ERR_TLS.code: throw BrokerError(tlsErrors: inbox.tlsErrors)
    default: throw .unreachable("\(address): \(String(cString: mosquitto_strerror(code)))")
    }
  }

  private func configure(_ tls: MosquittoClient.Configuration.TLS) throws(BrokerError) {
    for file in [tls.caFile, tls.certificateFile, tls.keyFile].compactMap(\.self)
    where access(file, R_OK) != 0 {
      // A container or a small system may have no authorities.
      let advice = file.hasPrefix("/etc/ssl/certs/") ? ": install the package ca-certificates" : ""
      throw .tls("cannot read \(file): \(systemError(errno))\(advice)")
    }
    // Without this callback OpenSSL prompts on the terminal for the key's passphrase and blocks.
    let code = mosquitto_tls_set(
      handle, tls.caFile, nil, tls.certificateFile, tls.keyFile, { _, _, _, _ in 0 })
    // "tlsv1.2" is the minimum version and allows TLS 1.3; 1 is SSL_VERIFY_PEER. The host name is
    // verified unless `mosquitto_tls_insecure_set` disables that.
    guard code == MOSQ_ERR_SUCCESS.code,
      mosquitto_tls_opts_set(handle, 1, "tlsv1.2", nil) == MOSQ_ERR_SUCCESS.code
    else { throw .tls("a client certificate needs its key, and a key its certificate") }
  }

  private func configure(
    _ will: Message, _ version: MosquittoClient.Configuration.ProtocolVersion
  ) throws(BrokerError) {
    var properties = Properties(will, version)
    let code = properties.give { list in
      mosquitto_will_set_v5(
        handle, will.topic, Int32(clamping: will.payload.count), will.payload,
        Int32(will.qos.rawValue), will.retain, list)
    }
    guard code == MOSQ_ERR_SUCCESS.code else {
      throw .cannotPublish(
        topics: [will.topic], reason: "as a will: \(String(cString: mosquitto_strerror(code)))")
    }
  }
}
