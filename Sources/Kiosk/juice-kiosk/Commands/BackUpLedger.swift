import ArgumentParser
import CommandLineSupport
import Foundation
import Ledger

extension LedgerCommands {
  struct Backup: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Copy the ledger to a new file, also while the kiosk runs.")

    @OptionGroup var options: Options
    @Argument(
      help: "The new file, which must not exist. - is standard output.", completion: .file())
    var file: String

    func run() throws {
      let path = try options.file()
      if file == "-" {
        // If the reader of the pipe ends, SIGPIPE ends this process without a message: the reader
        // reports its own error.
        signal(SIGPIPE, SIG_DFL)
        return try options.open().backUp(writingTo: STDOUT_FILENO)
      }
      let owner = try FolderOwner(ofFolderOf: file)
      if try FolderOwner(ofFolderOf: path).user == owner.user {
        try options.open().backUp(to: file)
      } else {
        try receive(path, as: owner)
      }
      try StandardOutput.write("Saved to \(file).", after: "the ledger is saved to \(file)")
    }

    /// Copies the ledger as root from one user's folder to another user's folder. One process reads
    /// and another writes, because neither user may do both. The reader is a second process of this
    /// program and prints its own errors.
    private func receive(_ path: String, as owner: FolderOwner) throws {
      let other = Process()
      other.executableURL = URL(filePath: Bundle.main.executablePath ?? CommandLine.arguments[0])
      other.arguments = ["ledger", "backup", "--path", path, "-"]
      let pipe = Pipe()
      other.standardOutput = pipe
      try other.run()
      try owner.switchUser()
      let backup = try BackupWriter(path: file)
      while let piece = try pipe.fileHandleForReading.read(upToCount: 1 << 16), !piece.isEmpty {
        try backup.write(Array(piece))
      }
      other.waitUntilExit()
      guard other.terminationStatus == 0 else { throw ExitCode(other.terminationStatus) }
      try backup.finish()
    }
  }
}
