import Foundation
import Synchronization

/// A server that answers each read with the next of its scripted packets, for responses that no
/// real broker can be made to send.
///
/// It serves one connection at a time, and keeps it open after the last packet. A PINGREQ also
/// consumes a packet.
package final class ScriptedServer: Sendable {
  package let port: UInt16
  private let listener: Int32

  /// - Parameter last: The answer after the last packet; by default none.
  package init(_ answers: [[UInt8]], then last: [UInt8] = []) throws {
    (listener, port) = try LoopbackSocket.listenAnywhere()
    Thread.detachNewThread { [listener] in
      // Closed in this thread: otherwise its descriptor could be reused by another listener before
      // the next `accept`.
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
