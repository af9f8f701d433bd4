import Foundation

/// The result of resolving a host's name and connecting to it by TCP.
enum Reachability {
  case unknownName(String)
  case silent(String)
  /// A connection was possible.
  ///
  /// - Parameter isLocal: Whether the address is one of this computer's loopback interface.
  case answers(isLocal: Bool)

  /// Resolves a host's name and connects to its addresses until one answers. Blocks for the
  /// duration of the name resolution, plus up to `timeout` for each address.
  static func of(host: String, port: Int, timeout: Duration) -> Reachability {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var first: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(host, String(port), &hints, &first)
    guard code == 0, let first else { return .unknownName(String(cString: gai_strerror(code))) }
    defer { freeaddrinfo(first) }
    var reason = "no address"
    for address in sequence(first: first, next: { $0.pointee.ai_next }) {
      let failure = connect(to: address.pointee, timeout: timeout)
      if failure == 0 { return .answers(isLocal: isLoopback(address.pointee)) }
      reason = String(cString: strerror(failure))
    }
    return .silent(reason)
  }

  /// Connects and closes the connection.
  ///
  /// - Returns: The `errno` of the failure, or 0 if the connection was made.
  private static func connect(to address: addrinfo, timeout: Duration) -> Int32 {
    let descriptor = socket(address.ai_family, address.ai_socktype, address.ai_protocol)
    guard descriptor >= 0 else { return errno }
    defer { close(descriptor) }
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    if Foundation.connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 { return 0 }
    guard errno == EINPROGRESS else { return errno }
    var poller = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    let milliseconds = Int32(clamping: timeout.components.seconds * 1000)
    guard poll(&poller, 1, milliseconds) > 0 else { return ETIMEDOUT }
    var failure: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &failure, &length)
    return failure
  }

  private static func isLoopback(_ address: addrinfo) -> Bool {
    var name = [CChar](repeating: 0, count: 64)
    getnameinfo(
      address.ai_addr, address.ai_addrlen, &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST)
    let text = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    return text == "::1" || text.hasPrefix("127.") || text.hasPrefix("::ffff:127.")
  }
}
