import Foundation

/// Reads small text files, with error messages for kiosk owners.
package enum TextFile {
  /// - Parameter isPrivate: Whether to refuse a file that other users can read.
  package static func read(
    _ path: String, upTo maximumSize: Int, isPrivate: Bool = false
  ) throws(Diagnostic) -> String {
    // O_NONBLOCK, because opening a pipe would block until a writer opens it.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw errno == ENOENT
        ? Diagnostic("there is no such file", hint: "check the path and its spelling")
        : Diagnostic("cannot be opened: \(String(cString: strerror(errno)))")
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
    guard !isPrivate || status.st_mode & others == 0 else {
      throw Diagnostic("can be read by others than its owner", hint: "run: chmod 600 \(path)")
    }
    guard status.st_size <= maximumSize else {
      throw Diagnostic("is larger than \(maximumSize) bytes")
    }
    return try text(descriptor, size: Int(status.st_size))
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
    return text
  }
}
