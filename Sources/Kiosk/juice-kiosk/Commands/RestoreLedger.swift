import ArgumentParser
import CommandLineSupport
import Ledger

extension LedgerCommands {
  struct Restore: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Replace the ledger with a backup.",
      discussion: """
        Stop the kiosk first. The command verifies the backup, and keeps an existing ledger under \
        another name. It replaces a ledger that has entries after the backup, has another history or \
        cannot be read only with --replace. Entries after the backup are then lost: used fruit, \
        tickets, and which orders were made. So count the fruit and restock.
        """)

    @OptionGroup var options: Options
    @Flag(help: "Replace the ledger even if entries are lost.")
    var replace = false
    @Argument(help: "The backup.", completion: .file()) var file: String

    func run() throws {
      let path = try options.file()
      let owner = try FolderOwner(ofFolderOf: path)
      // As root, the command opens another user's backup before it switches to the ledger's owner, and
      // a backup in this owner's folder only after the switch: the owner may have replaced this backup
      // with a link.
      let isOwners = try FolderOwner(ofFolderOf: file).user == owner.user
      let early = isOwners ? nil : try BackupFile(path: file)
      try owner.switchUser()
      let restored = try KioskLedger.restore(
        from: try early ?? BackupFile(path: file), to: path, replacing: replace)
      let last = restored.last.map { ", the last of \($0)" } ?? ""
      if restored.wasThere {
        try StandardOutput.write(
          "Nothing to do: \(path) has the same \(restored.entries) entries\(last).")
      } else {
        try StandardOutput.write(
          "Restored \(path): \(restored.entries) entries\(last).", after: "\(path) is restored")
      }
      if let kept = restored.kept {
        try StandardOutput.write(
          "The ledger that was there is kept as \(kept).",
          after: "\(path) is restored, and the ledger that was there is kept as \(kept)")
      }
    }
  }
}
