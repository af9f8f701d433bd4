import Foundation

/// A kind of damage of a state file.
package enum Damage: String, CaseIterable, Sendable {
  case empty, zeros, half, garbage, folder, link, nowhere, unreadable, missing

  /// Damages a file. `unreadable` is a pipe, because root can read every file.
  package func apply(to path: String) throws {
    let files = FileManager.default
    let bytes = (try? Data(contentsOf: URL(filePath: path))) ?? Data()
    try files.removeItem(atPath: path)
    switch self {
    case .empty: try Data().write(to: URL(filePath: path))
    case .zeros: try Data(count: max(1, bytes.count)).write(to: URL(filePath: path))
    case .half: try bytes.prefix(bytes.count / 2).write(to: URL(filePath: path))
    case .garbage: try Data("\u{FEFF}{]\n".utf8).write(to: URL(filePath: path))
    case .folder:
      try files.createDirectory(atPath: "\(path)/inner", withIntermediateDirectories: true)
    case .link: try files.createSymbolicLink(atPath: path, withDestinationPath: "/etc/passwd")
    case .nowhere:
      try files.createSymbolicLink(atPath: path, withDestinationPath: "\(path)-elsewhere")
    case .unreadable: mkfifo(path, 0o600)
    case .missing: break
    }
    guard [.empty, .zeros, .half, .garbage].contains(self) else { return }
    try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
  }
}
