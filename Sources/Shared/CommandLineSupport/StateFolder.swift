package import Foundation

/// A folder for the small private files of a program. Only the owner of a file can read the file.
///
/// Not synchronized: the caller prevents concurrent writes to the same file.
package struct StateFolder: Sendable {
  package let path: String

  /// Uses the folder at `path`, which the first `write` creates.
  package init(path: String) { self.path = path }

  /// Reads a file.
  ///
  /// - Parameters:
  ///   - name: The path below the folder: `alerts.json`, `routes/a1.json`.
  ///   - limit: Maximum size in bytes; a larger file is an error.
  /// - Returns: The contents, or `nil` if there is no such file.
  package func read(_ name: String, upTo limit: Int) throws(StateError) -> Data? {
    let place = place(of: name)
    let descriptor = open(place, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else {
      guard errno == ENOENT else { throw StateError(place) }
      return nil
    }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw StateError(place) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw StateError(place, "is not an ordinary file")
    }
    let data: Data
    do {
      data = try file.read(upToCount: limit + 1) ?? Data()
    } catch {
      throw StateError(place, "cannot be read: \(error.localizedDescription)")
    }
    guard data.count <= limit else { throw StateError(place, "is larger than \(limit) bytes") }
    return data
  }

  /// Writes a file atomically. When the call returns, the file is on the disk.
  ///
  /// - Parameter owner: The user and group of the file, or `nil` for those of the process.
  package func write(
    _ name: String, _ data: Data, owner: (user: UInt32, group: UInt32)? = nil
  ) throws(StateError) {
    let place = place(of: name)
    let folder = String(place[..<(place.lastIndex(of: "/") ?? place.startIndex)])
    do {
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
    } catch {
      throw StateError(folder, "cannot be created: \(error.localizedDescription)")
    }
    let new = "\(place).new"
    unlink(new)
    let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw StateError(new) }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    if let owner, fchown(descriptor, owner.user, owner.group) != 0 { throw StateError(new) }
    do {
      try file.write(contentsOf: data)
      try file.synchronize()
    } catch {
      throw StateError(new, "cannot be written: \(error.localizedDescription)")
    }
    guard rename(new, place) == 0 else { throw StateError(place) }
    // The new name survives a power cut only after fsync of the folder. Otherwise a power cut may
    // restore the old file, for example with a removed user.
    let parent = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { close(parent) }
    guard parent >= 0, fsync(parent) == 0 else { throw StateError(folder) }
  }

  /// Deletes a file if it exists.
  package func remove(_ name: String) throws(StateError) {
    let place = place(of: name)
    guard unlink(place) == 0 || errno == ENOENT else { throw StateError(place) }
  }

  /// Renames a file if it exists. Replaces a file that has the new name.
  package func move(_ name: String, to newName: String) throws(StateError) {
    let place = place(of: name)
    guard rename(place, self.place(of: newName)) == 0 || errno == ENOENT else {
      throw StateError(place)
    }
  }

  /// Returns the sorted names of the files in a subfolder; empty if there is no such folder.
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

  private func place(of name: String) -> String {
    path.hasSuffix("/") ? path + name : "\(path)/\(name)"
  }
}

/// A problem with a file in a `StateFolder`.
package struct StateError: Error, CustomStringConvertible {
  package let description: String

  /// Creates an error with the message for `errno`.
  fileprivate init(_ place: String) {
    let hint =
      errno == EROFS
      ? " (a service of systemd may write only below /var/lib: see ReadWritePaths= in systemd.exec(5))"
      : ""
    self.init(place, String(cString: strerror(errno)) + hint)
  }

  package init(_ place: String, _ problem: String) { description = "\(place): \(problem)" }
}
