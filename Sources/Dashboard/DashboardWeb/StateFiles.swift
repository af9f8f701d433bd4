package import CommandLineSupport

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
      examine(ScreenLinks.file(in: folder)), examine(Notifier.file(in: folder)),
      examine(ActivityStore.state(in: folder)),
    ]
    do throws(StateError) {
      found += try RouteStore.files(in: folder).map { examine($0) }
      for file in try ActivityStore.files(in: folder) { found.append(examine(file)) }
    } catch {
      found.append((folder.path, error))
    }
    return found
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
