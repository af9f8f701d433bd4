import Foundation
import Synchronization

/// A TCP proxy on loopback that imitates network failures.
package final class Proxy: Sendable {
  private struct State {
    var target: UInt16
    var listener: Int32?
    var isFrozen = false
    var isEnded = false
    var pairs: [(client: Int32, server: Int32)] = []
  }

  package let port: UInt16
  private let state: Mutex<State>

  package init(to target: UInt16) throws {
    let (listener, port) = try LoopbackSocket.listenAnywhere()
    self.port = port
    state = Mutex(State(target: target, listener: listener))
    Thread.detachNewThread { [self] in run() }
  }

  /// Redirects later connections to another port.
  package func redirect(to target: UInt16) { state.withLock { $0.target = target } }

  /// Closes all connections.
  package func cut() { state.withLock { Self.closeAll(&$0) } }

  /// Closes all connections, and refuses new ones until `open`.
  package func close() {
    state.withLock {
      Self.closeAll(&$0)
      Self.closeListener(&$0)
    }
  }

  /// Refuses new connections until `open`. The existing connections stay.
  package func refuse() { state.withLock { Self.closeListener(&$0) } }

  package func open() throws {
    // The previous listener uses the port until the proxy's poll(2) has returned.
    try waitUntil("the proxy listens again") {
      state.withLock {
        $0.listener = $0.listener ?? (try? LoopbackSocket.listen(on: port))?.socket
        return $0.listener != nil
      }
    }
  }

  /// Stops forwarding in both directions without closing connections.
  package func freeze() { state.withLock { $0.isFrozen = true } }
  package func resume() { state.withLock { $0.isFrozen = false } }

  package func tearDown() {
    state.withLock {
      $0.isEnded = true
      Self.closeAll(&$0)
      Self.closeListener(&$0)
    }
  }

  /// Calls shutdown(2) first: a program started meanwhile may have inherited the socket.
  private static func close(_ pair: (client: Int32, server: Int32)) {
    for socket in [pair.client, pair.server] {
      shutdown(socket, Int32(SHUT_RDWR))
      Foundation.close(socket)
    }
  }

  private static func closeListener(_ state: inout State) {
    // shutdown(2) first: poll(2) in the other thread keeps a closed listener listening.
    if let listener = state.listener {
      shutdown(listener, Int32(SHUT_RDWR))
      Foundation.close(listener)
    }
    state.listener = nil
  }

  private static func closeAll(_ state: inout State) {
    for pair in state.pairs { close(pair) }
    state.pairs = []
  }

  /// Polls the state every few milliseconds, which is acceptable in a test proxy.
  private func run() {
    while true {
      let (sockets, isEnded) = state.withLock { state in
        var sockets = [state.listener ?? -1]
        if !state.isFrozen { sockets += state.pairs.flatMap { [$0.client, $0.server] } }
        return (sockets, state.isEnded)
      }
      if isEnded { return }
      var watched = sockets.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      guard poll(&watched, nfds_t(watched.count), 5) > 0 else { continue }
      state.withLock { state in
        if watched[0].revents & Int16(POLLIN) != 0 { accept(&state) }
        for entry in watched.dropFirst() where entry.revents != 0 {
          pass(from: entry.fd, &state)
        }
      }
    }
  }

  private func accept(_ state: inout State) {
    guard let listener = state.listener else { return }
    // It may be a new listener, for which no client waits.
    var waiting = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
    guard poll(&waiting, 1, 0) > 0 else { return }
    let client = Foundation.accept(listener, nil, nil)
    guard client >= 0 else { return }
    guard let server = try? LoopbackSocket.connect(to: state.target) else {
      Foundation.close(client)
      return
    }
    LoopbackSocket.configure(client)
    state.pairs.append((client, server))
  }

  private func pass(from source: Int32, _ state: inout State) {
    guard !state.isFrozen,
      let index = state.pairs.firstIndex(where: { $0.client == source || $0.server == source })
    else { return }
    let pair = state.pairs[index]
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = recv(source, &bytes, bytes.count, Int32(MSG_DONTWAIT))
    // Another thread has closed the socket that was readable, and a new one has its number.
    if count < 0, errno == EAGAIN { return }
    let target = source == pair.client ? pair.server : pair.client
    if count > 0, send(target, bytes, count, Int32(MSG_NOSIGNAL)) == count { return }
    Self.close(pair)
    state.pairs.remove(at: index)
  }
}
