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
  package convenience init(_ answers: [[UInt8]], then last: [UInt8] = []) throws {
    try self.init(then: last) { _ in answers }
  }

  /// - Parameter answers: Returns the packets for a connection of a protocol level (MQTT 3.1.2.2).
  package init(
    then last: [UInt8] = [], _ answers: @escaping @Sendable (UInt8) -> [[UInt8]]
  ) throws {
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
        var rest: ArraySlice<[UInt8]>?
        while recv(client, &bytes, bytes.count, 0) > 0 {
          // Fixed header, length of the name, "MQTT", level.
          var answers = rest ?? answers(bytes[8])[...]
          defer { rest = answers }
          let answer = answers.popFirst() ?? last
          _ = send(client, answer, answer.count, Int32(MSG_NOSIGNAL))
        }
        close(client)
      }
    }
  }

  deinit { shutdown(listener, Int32(SHUT_RDWR)) }
}
