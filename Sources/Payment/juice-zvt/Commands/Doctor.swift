import ArgumentParser
import CommandLineSupport
import JuiceDomain
import KioskProtocol
import MessageBroker
import TimeZones
import YAMLConfiguration
import ZVT

struct Doctor: PreparedCommand {
  static let configuration = CommandConfiguration(
    abstract: "Find problems that can keep the terminal from taking cards.",
    discussion: """
      Examines the configuration, the journal and its disk, the broker's login, and the terminal: \
      whether it answers, is ready, has the right time, and holds amounts of no charge. While the \
      device runs, the terminal is not asked, because many terminals have one connection only.

      Exits 0 without warnings, 1 with warnings, and with the exit code of the first error.
      """)

  @OptionGroup var options: ConfigurationOptions

  @Option(
    help: ArgumentHelp(
      "Maximum time to wait for the broker, and for the terminal.", valueName: "seconds"))
  var timeout = 10

  @Flag(
    help: """
      Also try how long the terminal waits for the goods: present your own card. The terminal holds the \
      smallest amount, and gives it back.
      """)
  var pace = false

  func validate() throws {
    guard (1...600).contains(timeout) else { throw ValidationError("--timeout is 1 to 600.") }
  }

  func prepare() throws -> @Sendable () async throws -> Void {
    var configuration = try options.load()
    try configuration.broker.loadPassword()
    try FolderOwner(ofFolderOf: configuration.journal).switchUser()
    return { [configuration, timeout, pace] in
      var report = DoctorReport()
      report.ok("configuration", configuration.topics.base, "good, for \(configuration.name)")
      let file = report.examineJournal(configuration.journal)
      try await report.examineBroker(configuration, .seconds(timeout))
      let isRunning = report.examineLock(configuration.journal)
      if !isRunning {
        if pace { try StandardOutput.write("Present a card to the terminal now.") }
        await report.examineTerminal(
          configuration, file?.journal, .seconds(timeout), triesPace: pace)
      }
      report.examineEndOfDay(configuration, file?.journal, begun: file?.begun)
      try StandardOutput.write(report.lines.joined(separator: "\n"))
      guard report.status == .success else { throw report.status }
    }
  }
}

/// The findings of the doctor, as printed, and the exit code.
struct DoctorReport {
  private(set) var lines: [String] = []
  private(set) var status = ExitCode.success

  mutating func ok(_ check: String, _ place: String, _ text: String) {
    add("ok", check, place, text, nil)
  }

  mutating func note(_ check: String, _ place: String, _ text: String, fix: String? = nil) {
    add("note", check, place, text, fix)
  }

  mutating func warning(_ check: String, _ place: String, _ text: String, fix: String) {
    add("warning", check, place, text, fix)
    if status == .success { status = .failure }
  }

  mutating func error(
    _ check: String, _ place: String, _ text: String, fix: String, _ code: ExitCode = ExitCode(69)
  ) {
    add("error", check, place, text, fix)
    if status == .success || status == .failure { status = code }
  }

  private mutating func add(
    _ severity: String, _ check: String, _ place: String, _ text: String, _ fix: String?
  ) {
    let indent = String(repeating: " ", count: 9)
    let line = "\(severity.padded(to: 8)) \(check): \(place): \(text)".visible()
    lines.append(line.wrapped(to: StandardOutput.width, indent: indent))
    guard let fix else { return }
    lines.append(indent + "fix: \(fix)".wrapped(to: StandardOutput.width, indent: indent))
  }

  // MARK: This computer

  mutating func examineJournal(_ path: String) -> (journal: ChargeJournal, begun: Timestamp?)? {
    do throws(Failure) {
      let found = try Failure.from { () throws(StateError) in try JournalFile.view(path) }
      guard let (journal, begun) = found else {
        note(
          "journal", path, "does not exist; the first start makes it",
          fix: "if the device has run before: see 'lost journal' in payment.md")
        return (ChargeJournal(), nil)
      }
      let open = journal.open.map(\.charge)
      ok(
        "journal", path,
        "last charge \(journal.last), "
          + (open.isEmpty
            ? "nothing open" : "open: \(open.map(String.init).joined(separator: ", "))"))
      for record in journal.open where record.state == .unknown {
        warning(
          "journal", path, "charge \(record.charge) is unknown: \(record.reason ?? "")",
          fix: "compare the terminal's receipts with ticket \(record.ticket), and decide in the "
            + "dashboard")
      }
      return (journal, begun)
    } catch {
      self.error("journal", path, error.message, fix: "follow the message", error.status)
      return nil
    }
  }

  /// Returns whether the device runs, and adds a finding if it does or the lock fails.
  mutating func examineLock(_ path: String) -> Bool {
    do throws(Failure) {
      try Failure.from { () throws(StateError) in try FileLock(of: path) }
        .take(orFail: JournalFile.inUse(path))
      return false
    } catch let failure where failure.status.rawValue == 75 {
      note(
        "terminal", "connection", "not asked, because the device runs",
        fix: "look at its status, or stop it and run the doctor again")
      return true
    } catch {
      self.error(
        "journal", path, error.message,
        fix: "let the device's user write the folder, and make room on its disk", error.status)
      return false
    }
  }

  mutating func examineEndOfDay(
    _ configuration: ZVTConfiguration, _ journal: ChargeJournal?, begun: Timestamp?
  ) {
    guard configuration.endOfDay != nil else {
      return warning(
        "day", "device.end_of_day", "is not set: the terminal is not asked for its end of day",
        fix: "set it, and disable the one of the terminal itself")
    }
    let total = journal?.total
    guard let last = total?.at ?? begun else { return }
    if Timestamp.now.since(last) > .seconds(36 * 3600) {
      warning(
        "day", "\(last)",
        total == nil ? "the journal was begun, no end of day yet" : "was the last end of day",
        fix: "see the log for why none was possible; a charge may be open")
    } else if let total, total.isDifferent {
      warning(
        "day", "end of day \(total.total)",
        "the terminal has captured \(total.terminalNet ?? 0) less refunds, the journal "
          + "\(total.captured.units - total.refunded.units)",
        fix: "compare the receipts of the day with the charges of the report")
    } else if let total, total.terminalNet == nil {
      note("day", "end of day \(total.total)", "\(total.at), not compared with the terminal")
    } else if let total {
      ok("day", "end of day \(total.total)", "\(total.at), equal to the journal")
    }
  }

  // MARK: The broker and the terminal

  mutating func examineBroker(
    _ configuration: ZVTConfiguration, _ timeout: Duration
  ) async throws(Failure) {
    let broker = configuration.broker
    let place = "\(broker.host):\(broker.port)"
    let probe = BrokerProbe(clientID: "juice-zvt-doctor-\(UInt32.random(in: 0 ... .max))")
    switch try await broker.run(probe, timeout: timeout) {
    case .success: ok("broker", place, "accepts the login")
    case .failure(let problem):
      error("broker", place, "\(problem)", fix: "correct the section broker, or start the broker")
    }
  }

  mutating func examineTerminal(
    _ configuration: ZVTConfiguration, _ journal: ChargeJournal?, _ timeout: Duration,
    triesPace: Bool
  ) async {
    let place = "\(configuration.host):\(configuration.port)"
    let examination = TerminalExamination(
      configuration: configuration, timeout: timeout, triesPace: triesPace)
    do throws(TerminalExamination.Problem) {
      examine(try await examination.report(), at: place, configuration, journal)
    } catch {
      switch error {
      case .unreachable(let reason):
        self.error(
          "terminal", place, "cannot be reached: \(reason)",
          fix: "switch it on, allow ZVT over TCP in its settings, and check terminal.host and port")
      case .refused(let command, let code):
        self.error(
          "terminal", place, "refuses the \(command.name): \(code.text)",
          fix: "check terminal.password and terminal.currency", ExitCode(78))
      case .silent(let command):
        self.error(
          "terminal", place, "does not answer the \(command.name)",
          fix: "end what its display shows; does another program use it?")
      }
    }
  }

  private mutating func examine(
    _ report: TerminalExamination.Report, at place: String, _ configuration: ZVTConfiguration,
    _ journal: ChargeJournal?
  ) {
    let name = [report.terminal.map { "id \($0)" }, report.version].compactMap(\.self)
    ok("terminal", place, name.isEmpty ? "answers" : name.joined(separator: ", "))
    switch report.state?.byte {
    case nil, 0x00: break
    case 0xF0:
      warning(
        "terminal", place, "an end of day is due", fix: "set device.end_of_day, or do it by hand")
    case let byte?:
      error(
        "terminal", place, ResultCode(byte).text,
        fix: "do what the terminal's display asks for, or call its service")
    }
    // Without a readable journal it is not known which amounts belong to charges.
    let own = journal.map { Set($0.open.compactMap(\.receipt)) }
    let unknown = own.map { own in (report.openReceipts ?? []).filter { !own.contains($0) } } ?? []
    if report.openReceipts == nil {
      note("terminal", place, "does not list open reservations: set terminal.mode to goods_first")
    } else if let receipt = unknown.first, configuration.device.foreignHolds != .ignore {
      error(
        "terminal", place,
        "holds \(unknown.count) amount(s) of no charge, the first with receipt \(receipt)",
        fix: "release them at the terminal, or set terminal.unknown_holds to release", ExitCode(65))
    }
    if let clock = report.clock { examineClock(clock, at: place, configuration) }
    let device = configuration.device
    if let currency = report.currency, currency != device.currencyNumber {
      error(
        "terminal", place, "takes currency \(currency), not \(device.currencyNumber)",
        fix: "set terminal.currency, or let your bank change the terminal", ExitCode(78))
    }
    if !report.repeats, device.repeatsReceipt {
      note(
        "terminal", place,
        "does not repeat its last result, or has none: more charges are unknown "
          + "after a lost connection",
        fix: "make a payment and try again, or set repeat_receipt: false")
    }
    if let pace = report.pace { examinePace(pace, at: place, device) }
    let limit = device.patience.components.seconds
    let kinds =
      switch device.mode {
      case .goodsFirst: "goods first, for machines with ready_seconds below \(limit)"
      case .reservation: "reservations"
      case .auto:
        report.openReceipts == nil
          ? "goods first for machines with ready_seconds below \(limit), if the terminal has no reservations"
          : "goods first for one glass with ready_seconds below \(limit), else reservations"
      }
    note("terminal", place, "chosen by mode \(device.mode.rawValue): \(kinds)")
  }

  private mutating func examinePace(
    _ pace: TerminalExamination.Pace, at place: String, _ device: DeviceSettings
  ) {
    let measured =
      "asks \(pace.questions) times, and waits \(pace.waited.components.seconds) s for the goods"
    if pace.isKept {
      error(
        "pace", place, "\(measured); it keeps the amount of goods that were not made",
        fix: "cancel the payment at the terminal, and set terminal.mode to reservation",
        ExitCode(65))
    } else if pace.questions == 0 {
      warning(
        "pace", place, "no question came: \(pace.reason?.text ?? "the connection was lost")",
        fix: "run it again and present a card, or set terminal.mode to reservation")
    } else if pace.waited < device.patience - .seconds(1) {
      warning(
        "pace", place, "\(measured), not \(device.patience.components.seconds) s",
        fix:
          "set terminal.asks to \(pace.questions), or ask_seconds to what it waits for one answer")
    } else {
      ok("pace", place, measured)
    }
  }

  private mutating func examineClock(
    _ text: String, at place: String, _ configuration: ZVTConfiguration
  ) {
    // yyyyMMddHHmmss
    let form = zip(text, ["", "", "", "", "-", "", "-", "", "T", "", ":", "", ":", ""])
    guard text.utf8.count == 14,
      let local = Timestamp(form.map { "\($1)\($0)" }.joined() + "Z")
    else { return }
    guard let clock = configuration.timeZone else {
      warning(
        "clock", place, "not compared: TZ is no name of a time zone",
        fix: "set device.time_zone, such as Europe/Berlin")
      return
    }
    let time = clock.time(showing: local)
    let difference = abs(Timestamp.now.since(time).components.seconds)
    if difference > 300 {
      warning(
        "clock", place, "the terminal's clock differs by \(difference / 60) minutes",
        fix: "set the clock of the terminal, or of this computer, or device.time_zone")
    } else {
      ok("clock", place, "the terminal has the same time")
    }
  }
}
