import Foundation

enum ProcessMemory {
  /// Resident memory in bytes, or `nil` if `/proc` is not available.
  static var resident: Int? {
    guard let statm = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8),
      let pages = statm.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
    else { return nil }
    return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
  }
}
