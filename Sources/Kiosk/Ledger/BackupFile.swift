import Foundation

/// A backup to restore, with its files open. Root can open files that only root may read, and then
/// switch to the user that owns the ledger's folder.
package final class BackupFile {
  let path: String
  private let parts: [(suffix: String, file: FileHandle)]

  /// Opens a backup.
  ///
  /// - Throws: `LedgerError.badBackup` if the backup does not exist or is in use, or if it or its write-ahead log cannot
  ///   be read or is no regular file; `LedgerError.cannotOpen` if its lock file cannot be read, or another file beside
  ///   it is a symbolic link.
  package init(path: String) throws(LedgerError) {
    self.path = path
    var parts: [(String, FileHandle)] = []
    // A kiosk that was killed leaves commits in the write-ahead log.
    for suffix in ["", "-wal"] {
      let descriptor = open(path + suffix, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      guard descriptor >= 0 else {
        if suffix == "-wal", errno == ENOENT { continue }
        let detail = errno == ELOOP ? LedgerFile.isLink : String(cString: strerror(errno))
        throw .badBackup(path: path + suffix, detail: detail)
      }
      parts.append((suffix, FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)))
      var status = stat()
      guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
        throw .badBackup(path: path + suffix, detail: "it is not a file")
      }
    }
    self.parts = parts
    guard case .unlocked = try KioskLedger.lockHolder(of: path) else {
      throw .badBackup(
        path: path, detail: "a kiosk uses it; make a copy of it with juice-kiosk ledger backup")
    }
  }

  /// Copies the backup unchanged to a path that does not exist yet.
  func copy(to copy: LedgerFile) throws(LedgerError) {
    for (suffix, file) in parts {
      let writer = try FileWriter(path: copy.path + suffix)
      try FileWriter.copy(file.fileDescriptor, named: path + suffix, to: writer.write)
    }
  }
}
