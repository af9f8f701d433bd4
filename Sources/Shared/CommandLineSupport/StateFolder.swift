package import Foundation

/// The folder in which a program keeps small files of its own, which nobody else may read.
///
/// Two writers of one file at a time are up to the caller to prevent.
package struct StateFolder: Sendable {
  package let path: String

  /// - Parameter path: the folder, which is made with the first file.
  package init(path: String) { self.path = path }

  /// - Parameters:
  ///   - name: below the folder: `alerts.json`, `routes/a1.json`.
  ///   - limit: in bytes; a larger file is an error.
  /// - Returns: `nil` if there is no such file.
  package func read(_ name: String, upTo limit: Int) throws(StateError) -> Data? {
    let place = place(of: name)
    let descriptor = open(place, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else {
      guard errno == ENOENT else { throw StateError(place) }
      return nil
    }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    let data: Data
    do {
      data = try file.read(upToCount: limit + 1) ?? Data()
    } catch {
      throw StateError(place, "cannot be read: \(error.localizedDescription)")
    }
    guard data.count <= limit else { throw StateError(place, "is larger than \(limit) bytes") }
    return data
  }

  /// Writes a file, whole or not at all; when this returns, it is on the disk.
  package func write(_ name: String, _ data: Data) throws(StateError) {
    let place = place(of: name)
    let folder = String(place[..<(place.lastIndex(of: "/") ?? place.startIndex)])
    do {
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
    } catch {
      throw StateError(folder, "cannot be made: \(error.localizedDescription)")
    }
    let new = "\(place).new"
    unlink(new)
    let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw StateError(new) }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    do {
      try file.write(contentsOf: data)
      try file.synchronize()
    } catch {
      throw StateError(new, "cannot be written: \(error.localizedDescription)")
    }
    guard rename(new, place) == 0 else { throw StateError(place) }
    // Only when the folder is on the disk does the file's new name outlive a power cut.
    let parent = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { close(parent) }
    guard parent >= 0, fsync(parent) == 0 else { throw StateError(folder) }
  }

  /// Removes a file, if it is there.
  package func remove(_ name: String) throws(StateError) {
    let place = place(of: name)
    guard unlink(place) == 0 || errno == ENOENT else { throw StateError(place) }
  }

  /// The names of what is in a folder below this one, sorted; empty if there is no such folder.
  package func names(in folder: String) throws(StateError) -> [String] {
    let place = place(of: folder)
    do {
      return try FileManager.default.contentsOfDirectory(atPath: place).sorted()
    } catch CocoaError.fileReadNoSuchFile {
      return []
    } catch {
      throw StateError(place, "cannot be read: \(error.localizedDescription)")
    }
  }

  private func place(of name: String) -> String { "\(path)/\(name)" }
}

/// What is wrong with a file that a program keeps.
package struct StateError: Error, CustomStringConvertible {
  package let description: String

  /// With the message of the last system call that failed.
  fileprivate init(_ place: String) { self.init(place, String(cString: strerror(errno))) }

  package init(_ place: String, _ problem: String) { description = "\(place): \(problem)" }
}
