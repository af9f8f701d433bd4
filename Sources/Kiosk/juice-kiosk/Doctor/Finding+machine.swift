import ArgumentParser
import CommandLineSupport
import Foundation
import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol
import Ledger
import YAMLConfiguration

// The checks of this computer, which need no broker.

extension [Finding] {
  /// Returns a finding for each error of the configuration.
  static func configuration(
    _ errors: ConfigurationErrors
  ) -> [Finding] {
    errors.errors.map { error in
      .error(
        .configuration,
        [error.place.description, error.path].filter { !$0.isEmpty }.joined(separator: ": "),
        error.problem, fix: error.hint ?? "correct it; config/kiosk.yaml explains every key")
    }
  }

  static func configuration(_ configuration: KioskConfiguration, file: String?) -> [Finding] {
    guard let file else {
      return [
        .note(
          .configuration, "built-in defaults", "there is no configuration file",
          fix: "create \(KioskConfiguration.defaultPath), or name a file with --config")
      ]
    }
    var findings = [
      Finding.ok(
        .configuration, file,
        "good, for \(configuration.topics.base)")
    ]
    findings += configuration.usedCopies.map { problem in
      .warning(
        .configuration, "a file beside the ledger", problem,
        fix: "look for the cause of the damage: a power cut, a person or the disk")
    }
    if let problem = configuration.menuProblem {
      findings.append(
        .error(
          .configuration, "the menu of the chain",
          "cannot be used, the kiosk starts with the file's own menu: \(problem)",
          fix:
            "send the menu again, or to drop it, remove \(configuration.ledgerPath).menu and its copy .menu.good"
        ))
    }
    if let problem = configuration.settingsProblem {
      findings.append(
        .error(
          .configuration, "the change of the settings",
          "cannot be used, the kiosk starts with the file's own values: \(problem)",
          fix: "to drop it, remove \(configuration.settingsFile.path) and its copy .settings.good"))
    } else if let change = configuration.settingsSummary {
      findings.append(
        configuration.unusedSettings.isEmpty
          ? .note(.configuration, "the change of the settings", change)
          : .warning(
            .configuration, "the change of the settings", change,
            fix: "save the settings again in the dashboard"))
    }
    // A user who can change the file can direct the kiosk to another broker, or to another password
    // file.
    if let rights = FileRights(file), rights.mode & UInt32(S_IWOTH) != 0 {
      findings.append(
        .warning(
          .permissions, file, "every user of this computer may change it",
          fix: "run: chmod o-w \(file)"))
    }
    return findings
  }

  static func password(_ broker: BrokerConfiguration) -> [Finding] {
    do throws(ConfigurationErrors) {
      guard try broker.readPassword() != nil, let file = broker.passwordFile else { return [] }
      if let warning = try broker.passwordWarning() {
        return [
          .warning(.permissions, file, warning, fix: "remove it unless the account has it, too")
        ]
      }
      return [.ok(.permissions, file, "the password can be read, but not by other users")]
    } catch {
      return error.errors.map { error in
        .error(
          .permissions, error.place.description, error.problem,
          fix: error.hint ?? "let only the kiosk's user read it: chmod 600")
      }
    }
  }

  /// Checks whether the kiosk can write the ledger's folder and files.
  static func folder(of ledger: String) -> [Finding] {
    let folder = URL(filePath: ledger).deletingLastPathComponent().path
    guard let rights = FileRights(folder) else {
      return [
        .error(
          .permissions, folder, "the ledger's folder does not exist",
          fix: "run: install -d -m 750 -o juice-kiosk -g juice-kiosk \(folder)")
      ]
    }
    let files = ["", "-wal", "-shm", ".lock"].compactMap { suffix in
      FileRights(ledger + suffix).map { (path: ledger + suffix, rights: $0) }
    }
    // The kiosk runs as the owner of the folder.
    if let stranger = files.first(where: { $0.rights.owner != rights.owner }) {
      return [
        .error(
          .permissions, stranger.path,
          "belongs to \(stranger.rights.ownerName), but the kiosk runs as \(rights.ownerName), the "
            + "owner of the folder, and may not write the file",
          fix: stranger.path.hasSuffix(".lock")
            ? "stop the kiosk, and run: rm \(stranger.path)"
            : "stop the kiosk, and run as root: away=$(mktemp -d /var/backups/ledger-XXXXXX) && "
              + "mv \(ledger)* $away/ && juice-kiosk ledger restore --path \(ledger) "
              + "$away/\(NSString(string: ledger).lastPathComponent)")
      ]
    }
    if let closed = ([(folder, rights)] + files.map { ($0.path, $0.rights) })
      .first(where: { !$0.1.isWritable || $0.1.mode & UInt32(S_IWUSR) == 0 })
    {
      return [
        .error(
          .permissions, closed.0,
          "\(FolderOwner.name(of: geteuid())) cannot write there; it belongs to "
            + "\(closed.1.ownerName)",
          fix: "run the doctor as the kiosk's user or as root; if the result is the same, run: "
            + "chmod u+w \(closed.0), or find out why the disk is mounted read-only")
      ]
    }
    return [.ok(.permissions, folder, "\(rights.ownerName) can write the ledger")]
  }

  /// Checks the free space on the ledger's disk, and whether its files survive a power-off.
  ///
  /// - Parameter ledger: The path of the ledger.
  static func disk(of ledger: String) -> [Finding] {
    let folder = URL(filePath: ledger).deletingLastPathComponent().path
    guard let space = DiskSpace(of: folder) else { return [] }
    // A ledger that does not exist has no size. `LedgerView` reports an unreadable ledger.
    let size = (try? FileManager.default.attributesOfItem(atPath: ledger)[.size] as? Int) ?? 0
    let text = "\(space.free / 1_000_000) MB are free"
    let fix =
      "make room: delete old logs (journalctl --vacuum-size=100M) or backups, or use a larger disk"
    let hasFiles = space.freeFiles.map { $0 >= 16 } ?? true
    let room: Finding =
      switch hasFiles ? KioskHealth.Disk(free: space.free, ledger: size).freeSpace : .full {
      case .full: .error(.disk, folder, "\(text): orders will soon wait at the broker", fix: fix)
      case .low: .warning(.disk, folder, "only \(text)", fix: fix)
      case .enough: .ok(.disk, folder, text)
      }
    guard let kind = space.volatileKind else { return [room] }
    let loss =
      kind == "overlay" ? "at power-off, or with its container (overlay)" : "at power-off (\(kind))"
    let warning = Finding.warning(
      .disk, folder, "the ledger is lost \(loss)",
      fix: "set ledger.path to a folder on a disk, or in a container on a volume")
    return [room, warning]
  }

  /// Checks whether fruit in the ledger has expired, and whether the clock was behind.
  static func dates(_ batches: Batches) -> [Finding] {
    var findings: [Finding] = []
    if batches.clockBehind > 0 {
      findings.append(
        .warning(
          .clock, "dates of fruit",
          "in doubt: the clock was \(batches.clockBehind / 1000) s behind the time that it had "
            + "shown before",
          fix: "set it while the kiosk runs; until then check the dates by eye"))
    }
    for (fruit, amount) in batches.expiredAmounts {
      findings.append(
        .warning(
          .ledger, fruit.text, "\(amount) expired and still in the kiosk",
          fix: "take it out, and record it on the dashboard or with "
            + "juice-kiosk remove \(fruit)=\(amount) --expired --reason spoiled"))
    }
    return findings
  }

  /// Compares the clock with the ledger and the program, and checks its synchronization.
  ///
  /// - Parameters:
  ///   - last: The time of the ledger's last entry, or `nil` if it has no entry.
  ///   - latest: The latest time of an examined entry, or `nil` if the ledger has no entry.
  static func clock(_ clock: MachineClock, last: Timestamp?, latest: Timestamp?) -> [Finding] {
    let fix = "set it: timedatectl set-ntp true, and check that the computer reaches a time server"
    let tolerance = Duration.seconds(60)
    // A clock that a time server sets is right. A later time of an entry is then wrong.
    if let last, last.since(clock.now) > tolerance, clock.isSynchronised != true {
      return [
        .error(
          .clock, "\(clock.now)",
          "earlier than the ledger's last entry (\(last)): the clock is behind now, or was ahead then",
          fix: fix + "; if the clock is right, the next order ends this finding")
      ]
    }
    // The clock of the computer that built the program may have been up to a day ahead.
    if let builtAt = clock.builtAt, builtAt.since(clock.now) > .seconds(86_400) {
      return [
        .error(
          .clock, "\(clock.now)", "earlier than this program was built (\(builtAt))",
          fix: fix)
      ]
    }
    if let latest, latest.since(clock.now) > tolerance {
      return [
        .note(
          .clock, "\(clock.now)",
          "plausible, but the clock was ahead when an entry was recorded (\(latest))",
          fix: "none is needed: the entry keeps its time; if the clock is wrong, " + fix)
      ]
    }
    if clock.isSynchronised == false {
      // Only a note: the kernel of a virtual machine reports the same when its host keeps the time.
      return [
        .note(
          .clock, "\(clock.now)", "plausible, but the kernel reports no time synchronisation",
          fix: fix)
      ]
    }
    return [
      .ok(
        .clock, "\(clock.now)",
        clock.isSynchronised == nil ? "plausible" : "plausible, and synchronised by a time server")
    ]
  }
}
