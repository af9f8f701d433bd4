import Foundation
import Program
import Subprocess

/// A mosquitto of our own, on a free port of the loopback interface, for as long as a demonstration
/// lasts.
enum DemoBroker {
  /// Runs the broker while `body` runs, and leaves nothing behind.
  ///
  /// - Parameter body: is given the broker's port, and a folder that is removed afterwards.
  static func run(_ body: (_ port: Int, _ folder: URL) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory
      .appending(path: "juice-kiosk-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let port = try freePort()
    let file = folder.appending(path: "mosquitto.conf")
    try """
    listener \(port) 127.0.0.1
    allow_anonymous true
    max_inflight_messages 1024
    set_tcp_nodelay true
    """.write(to: file, atomically: true, encoding: .utf8)
    // Debian keeps it out of the path of ordinary users.
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    do {
      _ = try await Subprocess.run(
        .name("mosquitto"), arguments: ["-c", file.path()],
        environment: .inherit.updating(["PATH": "\(path):/usr/sbin:/usr/local/sbin"]),
        input: .none, output: .discarded, error: .discarded
      ) { broker in
        // It inherits a mask that blocks gentler signals, and has nothing to save.
        defer { try? broker.send(signal: .kill) }
        try await body(port, folder)
      }
    } catch let error as SubprocessError where error.code == .executableNotFound {
      throw Failure.unavailable("there is no mosquitto on this machine: apt-get install mosquitto")
    }
  }

  /// A port that the kernel has just found free.
  private static func freePort() throws(Failure) -> Int {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard isBound else { throw .unavailable("this machine has no free port") }
    return Int(UInt16(bigEndian: address.sin_port))
  }
}
