import Foundation
import Synchronization

/// A TCP proxy on loopback that can fail as a network does.
package final class Proxy: Sendable {
  private struct State {
    var target: UInt16
    var isFrozen = false
    var isEnded = false
    var pairs: [(client: Int32, server: Int32)] = []
  }

  package let port: UInt16
  private let listener: Int32
  private let state: Mutex<State>

  package init(to target: UInt16) throws {
    (listener, port) = try LoopbackSocket.listen()
    state = Mutex(State(target: target))
    Thread.detachNewThread { [self] in run() }
  }

  /// Sends later connections somewhere else.
  package func redirect(to target: UInt16) { state.withLock { $0.target = target } }

  /// Closes all connections, without a word to either side.
  package func cut() { state.withLock { Self.closeAll(&$0) } }

  /// Passes nothing on, in either direction, and closes nothing.
  package func freeze() { state.withLock { $0.isFrozen = true } }
  package func resume() { state.withLock { $0.isFrozen = false } }

  package func tearDown() {
    state.withLock {
      $0.isEnded = true
      Self.closeAll(&$0)
    }
  }

  private static func closeAll(_ state: inout State) {
    for pair in state.pairs {
      close(pair.client)
      close(pair.server)
    }
    state.pairs = []
  }

  /// Looks around every few milliseconds for what it was told meanwhile; a proxy of tests may.
  private func run() {
    defer { close(listener) }
    while true {
      let (sockets, isFrozen, isEnded) = state.withLock {
        ($0.pairs.flatMap { [$0.client, $0.server] }, $0.isFrozen, $0.isEnded)
      }
      if isEnded { return }
      var watched = ([listener] + (isFrozen ? [] : sockets)).map {
        pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
      }
      guard poll(&watched, nfds_t(watched.count), 5) > 0 else { continue }
      state.withLock { state in
        if watched[0].revents != 0 { accept(&state) }
        for entry in watched.dropFirst() where entry.revents != 0 {
          pass(from: entry.fd, &state)
        }
      }
    }
  }

  private func accept(_ state: inout State) {
    let client = Foundation.accept(listener, nil, nil)
    guard client >= 0 else { return }
    guard let server = try? LoopbackSocket.connect(to: state.target) else {
      close(client)
      return
    }
    var on: Int32 = 1
    setsockopt(client, Int32(IPPROTO_TCP), TCP_NODELAY, &on, 4)
    state.pairs.append((client, server))
  }

  private func pass(from source: Int32, _ state: inout State) {
    guard !state.isFrozen,
      let index = state.pairs.firstIndex(where: { $0.client == source || $0.server == source })
    else { return }
    let pair = state.pairs[index]
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = recv(source, &bytes, bytes.count, 0)
    let target = source == pair.client ? pair.server : pair.client
    if count > 0, send(target, bytes, count, Int32(MSG_NOSIGNAL)) == count { return }
    close(pair.client)
    close(pair.server)
    state.pairs.remove(at: index)
  }
}
