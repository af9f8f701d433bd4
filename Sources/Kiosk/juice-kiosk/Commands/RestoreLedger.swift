import ArgumentParser
import CommandLineSupport
import Ledger

extension LedgerCommands {
  struct Restore: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Put a backup in the place of the ledger.",
      discussion: """
        The backup is checked first, as verify does. The kiosk must be stopped. A ledger that is there \
        is kept under another name, and replaced only if nothing would be forgotten with it, or with \
        --replace. What happened after the backup was made is forgotten then: the fruit that went, the \
        tickets, and which orders have been made. So count the fruit and restock.
        """)

    @OptionGroup var options: Options
    @Flag(help: "Even if the ledger that is there has entries that the backup does not have.")
    var replace = false
    @Argument(help: "The backup.", completion: .file()) var file: String

    func run() throws {
      let path = try options.file()
      let owner = try FolderOwner(ofFolderOf: path)
      // Root opens another user's backup before it switches users. A backup in the ledger owner's
      // folder is opened as the owner, who could have replaced it with a symbolic link.
      let isOwners = try FolderOwner(ofFolderOf: file).user == owner.user
      let early = isOwners ? nil : try BackupFile(path: file)
      try owner.switchUser()
      let restored = try KioskLedger.restore(
        from: try early ?? BackupFile(path: file), to: path, replacing: replace)
      let last = restored.last.map { ", the last of \($0)" } ?? ""
      if restored.wasThere {
        StandardOutput.write(
          "Nothing to do: \(path) has the same \(restored.entries) entries\(last).")
      } else {
        StandardOutput.write("Restored \(path): \(restored.entries) entries\(last).")
      }
      if let kept = restored.kept {
        StandardOutput.write("The ledger that was there is kept as \(kept).")
      }
    }
  }
}
