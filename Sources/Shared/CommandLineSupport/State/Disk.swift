import Foundation

/// Reads and replaces small files, so that a power cut leaves the old or the new contents.
package enum Disk {
  /// Reads an ordinary file. Follows no symbolic link and blocks at no pipe.
  ///
  /// - Parameters:
  ///   - limit: Maximum size in bytes; a larger file is an error.
  ///   - isPrivate: Whether a permission of users other than the owner is an error.
  /// - Returns: The contents, or `nil` if there is no such file.
  static func read(
    _ path: String, upTo limit: Int, isPrivate: Bool = false
  ) throws(StateError) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw errno == ELOOP
        ? StateError(noFile: path, "is a symbolic link") : StateError(errnoAt: path)
    }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw StateError(errnoAt: path) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw StateError(noFile: path, "is not an ordinary file")
    }
    guard !isPrivate || status.st_mode & 0o077 == 0 else {
      throw StateError(
        noFile: path, "can be read or changed by others than its owner; its permissions must be 600"
      )
    }
    let data: Data
    do {
      data = try file.read(upToCount: limit + 1) ?? Data()
    } catch {
      throw StateError(noFile: path, "cannot be read: \(error.localizedDescription)")
    }
    guard data.count <= limit else { throw StateError(path, "is larger than \(limit) bytes") }
    return Array(data)
  }

  /// Replaces a file, or creates it. If root replaces a file, its owner remains; a new file of root
  /// belongs to the owner of the folder.
  ///
  /// - Parameter makesFolder: Whether a missing folder is created, for its owner only.
  static func replace(
    _ path: String, with bytes: [UInt8], mode: UInt32, makesFolder: Bool = false
  ) throws(StateError) {
    let folder = folder(of: path)
    if makesFolder { try make(folder) }
    let new = "\(path).new"
    unlink(new)
    let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_t(mode))
    guard descriptor >= 0 else { throw StateError(errnoAt: new) }
    defer { close(descriptor) }
    var owner = stat()
    if geteuid() == 0, lstat(path, &owner) == 0 || stat(folder, &owner) == 0,
      fchown(descriptor, owner.st_uid, owner.st_gid) != 0
    {
      throw StateError(errnoAt: new)
    }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 || errno == EINTR else { throw StateError(errnoAt: new) }
      rest = rest.dropFirst(max(count, 0))
    }
    guard fsync(descriptor) == 0 else { throw StateError(errnoAt: new) }
    guard rename(new, path) == 0 else { throw StateError(errnoAt: path) }
    // The new name survives a power cut only after fsync of the folder. Otherwise a power cut may
    // restore the old file, for example with a removed user.
    try sync(folder)
  }

  /// Renames a file, link or folder to the first unused name of `PATH.damaged-1`, `-2` and so on.
  ///
  /// - Returns: The new name.
  @discardableResult
  package static func keepAside(_ path: String) throws(StateError) -> String {
    var number = 1
    while exists("\(path).damaged-\(number)") { number += 1 }
    guard rename(path, "\(path).damaged-\(number)") == 0 || errno == ENOENT else {
      throw StateError(errnoAt: path)
    }
    return "\(path).damaged-\(number)"
  }

  /// Returns why no file can be created in a folder, or `nil` if one can or the folder does not exist.
  /// Writes nothing.
  package static func problem(writingIn folder: String) -> StateError? {
    guard exists(folder) else { return nil }
    guard access(folder, R_OK | W_OK | X_OK) == 0 else { return StateError(errnoAt: folder) }
    var status = statvfs()
    guard statvfs(folder, &status) == 0 else { return StateError(errnoAt: folder) }
    if status.f_blocks > 0, status.f_bavail == 0 {
      errno = ENOSPC
      return StateError(errnoAt: folder)
    }
    return nil
  }

  /// Deletes a file if it exists. A power cut does not bring it back.
  package static func remove(_ path: String) throws(StateError) {
    guard unlink(path) == 0 else {
      guard errno == ENOENT else { throw StateError(errnoAt: path) }
      return
    }
    try sync(folder(of: path))
  }

  /// Returns whether there is a file, folder or link with this name.
  static func exists(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  /// Returns the sorted names of the files in a folder; empty if there is no such folder.
  package static func names(in folder: String) throws(StateError) -> [String] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    } catch CocoaError.fileReadNoSuchFile {
      return []
    } catch {
      throw StateError(noFile: folder, "cannot be read: \(error.localizedDescription)")
    }
  }

  static func make(_ folder: String) throws(StateError) {
    do {
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
    } catch {
      throw StateError(noFile: folder, "cannot be created: \(error.localizedDescription)")
    }
  }

  /// Syncs a folder, after which created and removed names survive a power cut.
  static func sync(_ folder: String) throws(StateError) {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw StateError(errnoAt: folder) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw StateError(errnoAt: folder) }
  }

  /// Returns the folder of a file, with a slash at its end.
  package static func folder(of path: String) -> String {
    let folder = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    return folder.isEmpty ? "./" : folder.joined(separator: "/") + "/"
  }
}
