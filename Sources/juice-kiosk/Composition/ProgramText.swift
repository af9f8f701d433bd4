import Foundation

/// The program's own instructions in memory.
enum ProgramText {
  /// Unmaps all of them, since most were for the start or a reload only: to read the configuration,
  /// open the ledger and connect. What goes on is mapped again when it is needed, out of the kernel's
  /// cache, so this takes microseconds, and on a small machine leaves the memory to others.
  static func unmap() {
    #if os(Linux)
    guard let maps = try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8) else { return }
    for map in maps.split(separator: "\n") {
      // proc_pid_maps(5). Instructions are never written to, so that nothing is lost with them.
      let columns = map.split(separator: " ", omittingEmptySubsequences: true)
      guard columns.count >= 6, columns[1] == "r-xp", columns[5].first == "/" else { continue }
      let bounds = columns[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
      guard bounds.count == 2 else { continue }
      madvise(
        UnsafeMutableRawPointer(bitPattern: bounds[0]), Int(bounds[1] - bounds[0]), MADV_DONTNEED)
    }
    #endif
  }
}
