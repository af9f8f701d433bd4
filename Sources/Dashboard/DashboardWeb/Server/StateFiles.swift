package import CommandLineSupport
import Foundation

/// The files in which the dashboard stores its state, for `juice-dashboard doctor`.
package struct StateFiles: Sendable {
  private let users: UserFile
  private let folder: StateFolder

  package init(users: UserFile, folder: StateFolder) { (self.users, self.folder) = (users, folder) }

  /// Examines all files without changing them.
  ///
  /// - Returns: The path of each file, and its problem with what a person can do.
  package func examine() -> [(path: String, problem: StateError?)] {
    var found = [
      (path: users.path, problem: users.load().problem),
      examine(UserAdministration.file(in: folder)),
      examine(ScreenLinks.file(in: folder)), examine(Sessions.file(in: folder)),
      examine(Notifier.file(in: folder)),
      examine(UserMessages.file(in: folder)), examine(SentMessages.file(in: folder)),
      examine(ActivityStore.state(in: folder)),
    ]
    do throws(StateError) {
      found += try RouteStore.files(in: folder).map { examine($0) }
      for file in try ActivityStore.files(in: folder) { found.append(examine(file)) }
    } catch {
      found.append((folder.path, error))
    }
    if let problem = Self.problem(writing: folder) { found.append((folder.path, problem)) }
    return found
  }

  /// Returns why the dashboard cannot write its state, or `nil` if it can. Writes nothing.
  static func problem(writing folder: StateFolder) -> StateError? {
    folder.problem(withFolders: [RouteStore.directory, ActivityStore.directory])
  }

  /// Returns each damaged file that is kept beside the one that replaced it, with what a person can do.
  package func kept() -> [String] {
    let places =
      [Disk.folder(of: users.target), folder.path(of: "")]
      + [RouteStore.directory, ActivityStore.directory].map { "\(folder.path(of: $0))/" }
    let names = Set(places).sorted().flatMap { place in
      ((try? Disk.names(in: place)) ?? []).map { place + $0 }
    }
    return names.compactMap { name in
      guard let end = name.range(of: ".damaged", options: .backwards) else { return nil }
      let path = String(name[..<end.lowerBound])
      return path.hasSuffix(".jsonl")
        ? "\(name) is not used; \(ActivityStore.restoring(name, to: path))"
        : "\(name) is not used; compare it with \(path), then remove it"
    }
  }

  private func examine<Value>(_ file: StateFile<Value>) -> (path: String, problem: StateError?) {
    (file.path, file.load().problem)
  }

  private func examine<Record>(_ file: RecordFile<Record>) -> (path: String, problem: StateError?) {
    do throws(StateError) {
      return (file.path, try file.read(skipsDamage: true).problem)
    } catch {
      return (file.path, error)
    }
  }
}
