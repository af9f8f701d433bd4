import Foundation
import Synchronization

/// A server that answers whatever it reads with the next of its lines, for what no real broker can
/// be made to say. It keeps the connection open behind the last one, and serves one at a time.
/// A client that sends PINGREQs gets the next line for one, too.
package final class ScriptedServer: Sendable {
  package let port: UInt16
  private let listener: Int32

  /// - Parameter last: what it answers when there are no more lines; by default nothing.
  package init(_ answers: [[UInt8]], then last: [UInt8] = []) throws {
    (listener, port) = try LoopbackSocket.listenAnywhere()
    Thread.detachNewThread { [listener] in
      // Closed here, or its number could be that of another listener at the next `accept`.
      defer { close(listener) }
      while true {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { return }
        LoopbackSocket.configure(client)
        var bytes = [UInt8](repeating: 0, count: 65_536)
        var answers = answers[...]
        while recv(client, &bytes, bytes.count, 0) > 0 {
          let answer = answers.popFirst() ?? last
          _ = send(client, answer, answer.count, Int32(MSG_NOSIGNAL))
        }
        close(client)
      }
    }
  }

  deinit { shutdown(listener, Int32(SHUT_RDWR)) }
}
