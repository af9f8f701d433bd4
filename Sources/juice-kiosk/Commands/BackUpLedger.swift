import ArgumentParser
import Foundation
import Ledger
import Program

extension LedgerCommands {
  struct Backup: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Copy the ledger into a new file, while the kiosk goes on.")

    @OptionGroup var options: Options
    @Argument(
      help: "Where to; must not be there yet. - is standard output.", completion: .file())
    var file: String

    func run() throws {
      let path = try options.file()
      if file == "-" {
        let ledger = try options.open()
        do throws(LedgerError) { try ledger.backUp(writingTo: STDOUT_FILENO) } catch {
          throw Failure(error)
        }
        return
      }
      let owner = try FolderOwner(ofFolderOf: file)
      if try FolderOwner(ofFolderOf: path).user == owner.user {
        let ledger = try options.open()
        do throws(LedgerError) { try ledger.backUp(to: file) } catch { throw Failure(error) }
      } else {
        try receive(path, as: owner)
      }
      StandardOutput.write("Saved to \(file).")
    }

    /// Where root copies from one user's folder to another's: each is a process of its own, since none
    /// may have both rights. The other one is this program again, which says itself what is wrong.
    private func receive(_ path: String, as owner: FolderOwner) throws {
      let other = Process()
      other.executableURL = URL(filePath: Bundle.main.executablePath ?? CommandLine.arguments[0])
      other.arguments = ["ledger", "backup", "--path", path, "-"]
      let pipe = Pipe()
      other.standardOutput = pipe
      try other.run()
      try owner.become()
      do {
        let backup = try BackupWriter(path: file)
        while let piece = try pipe.fileHandleForReading.read(upToCount: 1 << 16), !piece.isEmpty {
          try backup.write(Array(piece))
        }
        other.waitUntilExit()
        guard other.terminationStatus == 0 else { throw ExitCode(other.terminationStatus) }
        try backup.finish()
      } catch let error as LedgerError {
        throw Failure(error)
      }
    }
  }
}
