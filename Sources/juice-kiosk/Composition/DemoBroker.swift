import Foundation

/// A mosquitto of our own, on a free port of the loopback interface, for as long as a demonstration
/// lasts.
final class DemoBroker {
  let port: Int
  let folder: URL
  private let process = Process()

  init() throws(Failure) {
    guard let executable = Self.executable else {
      throw .unavailable("there is no mosquitto on this machine: apt-get install mosquitto")
    }
    do {
      port = try Self.freePort()
      folder = FileManager.default.temporaryDirectory.appending(
        path: "juice-kiosk-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let file = folder.appending(path: "mosquitto.conf")
      try """
      listener \(port) 127.0.0.1
      allow_anonymous true
      max_inflight_messages 0
      """.write(to: file, atomically: true, encoding: .utf8)
      process.executableURL = executable
      process.arguments = ["-c", file.path()]
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try process.run()
    } catch {
      throw .unavailable("mosquitto cannot be started: \(error.localizedDescription)")
    }
  }

  func stop() {
    process.terminate()
    process.waitUntilExit()
    try? FileManager.default.removeItem(at: folder)
  }

  private static var executable: URL? {
    // Debian keeps it out of the path of ordinary users.
    let folders =
      (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
      + ["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/sbin"]
    return folders.map { URL(filePath: "\($0)/mosquitto") }
      .first { FileManager.default.isExecutableFile(atPath: $0.path()) }
  }

  /// A port that the kernel has just found free.
  private static func freePort() throws -> Int {
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
    guard isBound else { throw CocoaError(.fileNoSuchFile) }
    return Int(UInt16(bigEndian: address.sin_port))
  }
}
