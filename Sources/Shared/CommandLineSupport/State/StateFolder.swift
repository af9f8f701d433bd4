package import Foundation

/// The folder of a program's private state files, which the first write creates.
package struct StateFolder: Sendable {
  package let path: String

  package init(path: String) { self.path = path }

  /// Returns the path of a file: of `alerts.json`, or `routes/a1.json`.
  package func path(of name: String) -> String {
    path.hasSuffix("/") ? path + name : "\(path)/\(name)"
  }

  /// Returns why the folder, or one in it, cannot be written, or `nil` if it can.
  package func problem(withFolders names: [String]) -> StateError? {
    ([path] + names.map { path(of: $0) }).lazy.compactMap { Disk.problem(writingIn: $0) }.first
  }

  package func read(_ name: String, upTo limit: Int) throws(StateError) -> Data? {
    try Disk.read(path(of: name), upTo: limit).map { Data($0) }
  }

  package func write(_ name: String, _ data: Data) throws(StateError) {
    try Disk.replace(path(of: name), with: Array(data), mode: 0o600, makesFolder: true)
  }
}
