import Foundation

/// Reads small text files, with error messages for kiosk owners.
package enum TextFile {
  /// Reads a file in UTF-8.
  ///
  /// - Parameters:
  ///   - maximumSize: Maximum size in bytes; a larger file is an error.
  ///   - isPrivate: Whether a file that other users can read is an error, except a mounted secret.
  package static func read(
    _ path: String, upTo maximumSize: Int, isPrivate: Bool = false
  ) throws(Diagnostic) -> String {
    // O_NONBLOCK, because opening a pipe would block until a writer opens it.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      switch errno {
      // systemd names the file, but does not provide it where it must not mount, as in some containers.
      case ENOENT where path.hasPrefix("/run/credentials/"):
        throw Diagnostic(
          "systemd has not provided this credential",
          hint:
            "in a container, write the password to a file that only the service's user may read, and set "
            + "'password_file'")
      case ENOENT:
        throw Diagnostic("there is no such file", hint: "check the path and its spelling")
      case EACCES:
        throw Diagnostic("may not be read by this user", hint: "run this as its owner or as root")
      default: throw Diagnostic("cannot be opened: \(String(cString: strerror(errno)))")
      }
    }
    defer { close(descriptor) }
    // fstat(2) examines the open file, which cannot be replaced in the meantime.
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      throw Diagnostic("cannot be read: \(String(cString: strerror(errno)))")
    }
    switch status.st_mode & S_IFMT {
    case S_IFREG: break
    case S_IFDIR: throw Diagnostic("is a folder", hint: "name the file in it")
    default: throw Diagnostic("is not an ordinary file")
    }
    // A file owned by root may be readable by its group: systemd passes credentials with an access
    // control list, which stat(2) reports as the group permission.
    let others = status.st_uid == 0 && geteuid() != 0 ? S_IROTH : S_IRGRP | S_IROTH
    guard !isPrivate || status.st_mode & others == 0 || isMountedSecret(path, status) else {
      throw Diagnostic("can be read by others than its owner", hint: "run: chmod 600 \(path)")
    }
    guard status.st_size <= maximumSize else {
      throw Diagnostic("is larger than \(maximumSize) bytes")
    }
    return try text(descriptor, size: Int(status.st_size))
  }

  /// Returns whether the file is a secret that Docker or Kubernetes has mounted: read-only (as mode
  /// 0444 or 0440), on another file system than `/`, in a folder that only its owner may change.
  /// The modes of such files cannot always be chosen, and all processes of the container belong to
  /// the program.
  private static func isMountedSecret(_ path: String, _ file: stat) -> Bool {
    // In Kubernetes the path is a link to the file in the folder of the current version.
    guard file.st_mode & 0o222 == 0, let real = realpath(path, nil) else { return false }
    defer { free(real) }
    let folder = URL(filePath: String(cString: real)).deletingLastPathComponent()
    var (parent, root) = (stat(), stat())
    guard stat(folder.path(percentEncoded: false), &parent) == 0, stat("/", &root) == 0 else {
      return false
    }
    return parent.st_mode & (S_IWGRP | S_IWOTH) == 0 && file.st_dev != root.st_dev
  }

  private static func text(_ descriptor: CInt, size: Int) throws(Diagnostic) -> String {
    let data: Data
    do {
      data = try FileHandle(fileDescriptor: descriptor).read(upToCount: size) ?? Data()
    } catch {
      throw Diagnostic("cannot be read: \(error.localizedDescription)")
    }
    guard let text = String(validating: data, as: UTF8.self) else {
      throw Diagnostic("is not UTF-8 text", hint: "save it as UTF-8")
    }
    return text.withoutByteOrderMark
  }
}

extension String {
  /// The text without the byte order mark that some editors write at its start.
  package var withoutByteOrderMark: String {
    unicodeScalars.first == "\u{FEFF}" ? String(unicodeScalars.dropFirst()) : self
  }
}
