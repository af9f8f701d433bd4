import Foundation
import Synchronization

/// Blocking TCP sockets on 127.0.0.1.
package enum LoopbackSocket {
  private static let givenPorts = Mutex<Set<UInt16>>([])

  /// Returns an unused port: below the range that the system assigns to outgoing connections, and
  /// never the same twice, so that it stays free while a server is stopped.
  package static func freePort() throws -> UInt16 {
    let (socket, port) = try listenAnywhere()
    close(socket)
    return port
  }

  /// Listens on a port from `freePort`.
  package static func listenAnywhere(
    backlog: Int32 = 64
  ) throws -> (socket: Int32, port: UInt16) {
    for _ in 0..<1000 {
      let port = UInt16.random(in: 15_000..<32_000)
      guard givenPorts.withLock({ $0.insert(port).inserted }),
        let listener = try? listen(on: port, backlog: backlog)
      else { continue }
      return listener
    }
    throw TestSupportError(description: "no free port")
  }

  /// Listens on a port.
  package static func listen(
    on port: UInt16, backlog: Int32 = 64
  ) throws -> (socket: Int32, port: UInt16) {
    let socket = try make()
    var on: Int32 = 1
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, 4)
    var address = address(port)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withPointer(&address) { bind(socket, $0, length) == 0 }
    guard isBound, Foundation.listen(socket, backlog) == 0,
      withPointer(&address, { getsockname(socket, $0, &length) }) == 0
    else {
      close(socket)
      throw TestSupportError(description: "no free port: \(String(cString: strerror(errno)))")
    }
    return (socket, UInt16(bigEndian: address.sin_port))
  }

  /// - Returns: The socket, or `nil` if no server listens there.
  package static func connect(to port: UInt16) throws -> Int32? {
    let socket = try make()
    var address = address(port)
    let length = socklen_t(MemoryLayout<sockaddr_in>.size)
    if withPointer(&address, { Foundation.connect(socket, $0, length) }) == 0 {
      configure(socket)
      return socket
    }
    close(socket)
    return nil
  }

  /// Disables Nagle's algorithm, inheritance and SIGPIPE.
  static func configure(_ socket: Int32) {
    _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
    var on: Int32 = 1
    setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, 4)
    #if canImport(Darwin)
    setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &on, 4)
    #endif
  }

  package static func waitUntilListening(
    on port: UInt16, within limit: Duration = .seconds(60)
  ) throws {
    let deadline = ContinuousClock.now + limit
    while ContinuousClock.now < deadline {
      if let socket = try connect(to: port) {
        close(socket)
        return
      }
      poll(nil, 0, 5)
    }
    throw TestSupportError(description: "nothing listens on port \(port)")
  }

  private static func make() throws -> Int32 {
    #if canImport(Darwin)
    let socket = socket(AF_INET, SOCK_STREAM, 0)
    #else
    // SOCK_CLOEXEC when the socket is created: another test may start a program at any time, and an
    // inherited listener continues to accept connections that are never served.
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    #endif
    guard socket >= 0 else {
      throw TestSupportError(description: "no socket: \(String(cString: strerror(errno)))")
    }
    _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
    return socket
  }

  private static func address(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    return address
  }

  private static func withPointer<Result>(
    _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>) -> Result
  ) -> Result {
    withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
    }
  }
}
