import CommandLineSupport
import Foundation

/// A temporary mosquitto on a free port of the loopback interface, for `juice-kiosk demo`.
enum DemoBroker {
  /// Runs the broker while `body` runs, then kills the broker and removes its folder.
  ///
  /// - Parameter body: Receives the broker's port and the path of the temporary folder.
  static func run(_ body: (_ port: Int, _ folder: URL) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory
      .appending(path: "juice-kiosk-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    // If the removal fails, the system deletes the folder later, with other temporary files.
    defer { try? FileManager.default.removeItem(at: folder) }
    let port = try freePort()
    let file = folder.appending(path: "mosquitto.conf")
    try """
    listener \(port) 127.0.0.1
    allow_anonymous true
    max_inflight_messages 1024
    set_tcp_nodelay true
    """.write(to: file, atomically: true, encoding: .utf8)
    let broker = Process()
    broker.executableURL = try program()
    broker.arguments = ["-c", file.path()]
    (broker.standardInput, broker.standardOutput) = (FileHandle.nullDevice, FileHandle.nullDevice)
    broker.standardError = FileHandle.nullDevice
    try broker.run()
    defer {
      // SIGKILL, because the broker inherits a signal mask that blocks SIGTERM. The broker has no
      // state to save.
      kill(broker.processIdentifier, SIGKILL)
      broker.waitUntilExit()
    }
    try await body(port, folder)
  }

  private static func program() throws(Failure) -> URL {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    // Debian installs mosquitto in /usr/sbin, which is not in the PATH of ordinary users.
    let places = "\(path):/usr/sbin:/usr/local/sbin".split(separator: ":").map { "\($0)/mosquitto" }
    guard let place = places.first(where: FileManager.default.isExecutableFile) else {
      throw .unavailable("there is no mosquitto on this computer: apt-get install mosquitto")
    }
    return URL(filePath: place)
  }

  /// Returns a port that is free at the time of the call.
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
    guard isBound else { throw .unavailable("this computer has no free port") }
    return Int(UInt16(bigEndian: address.sin_port))
  }
}
