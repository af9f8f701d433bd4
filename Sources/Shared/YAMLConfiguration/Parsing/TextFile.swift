import Foundation

/// Reads small text files, with messages for their owner.
package enum TextFile {
  /// - Parameter isPrivate: refuses a file that others can read.
  package static func read(
    _ path: String, upTo maximumSize: Int, isPrivate: Bool = false
  ) throws(Diagnostic) -> String {
    // Opening a pipe would wait for its writer.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw errno == ENOENT
        ? Diagnostic("there is no such file", hint: "check the path and its spelling")
        : Diagnostic("cannot be opened: \(String(cString: strerror(errno)))")
    }
    defer { close(descriptor) }
    // fstat(2) asks about the open file, which nobody can exchange in between.
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      throw Diagnostic("cannot be read: \(String(cString: strerror(errno)))")
    }
    switch status.st_mode & S_IFMT {
    case S_IFREG: break
    case S_IFDIR: throw Diagnostic("is a folder", hint: "name the file in it")
    default: throw Diagnostic("is not an ordinary file")
    }
    // A file that root owns may be readable by the group: systemd hands over credentials with an
    // access list, and stat(2) shows that as the group's permission.
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
