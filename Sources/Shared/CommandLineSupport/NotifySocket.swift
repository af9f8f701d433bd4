import Foundation

/// The socket to which a service of `Type=notify` reports its state (sd_notify(3)).
package struct NotifySocket: Sendable {
  private let path: String

  /// Reads the path of the socket from `NOTIFY_SOCKET`, or returns `nil` if systemd did not start the
  /// program as a service of `Type=notify`.
  package init?(environment: [String: String] = ProcessInfo.processInfo.environment) {
    guard let path = environment["NOTIFY_SOCKET"] else { return nil }
    self.path = path
  }

  /// Sends one or more lines, such as `READY=1`, as one datagram, without blocking.
  ///
  /// - Returns: Whether the datagram was sent.
  @discardableResult
  package func send(_ text: String) -> Bool {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var path = Array(path.utf8)
    // On Linux, '@' represents the zero byte at the start of an abstract socket name.
    if path.first == UInt8(ascii: "@") { path[0] = 0 }
    let capacity = MemoryLayout.size(ofValue: address.sun_path)
    guard path.count < capacity else { return false }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
    // Every byte of an abstract name is significant, so the length is exact.
    let length = socklen_t(MemoryLayout<sockaddr_un>.size - capacity + path.count)

    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        sendto(descriptor, text, text.utf8.count, Int32(MSG_DONTWAIT), pointer, length)
          >= 0
      }
    }
  }
}
