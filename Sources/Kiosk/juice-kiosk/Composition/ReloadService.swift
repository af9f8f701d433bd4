import CommandLineSupport
import KioskCore
import KioskDaemon
import KioskProtocol
import Logging
import ServiceLifecycle
import UnixSignals
import YAMLConfiguration

/// Applies a new configuration to the running kiosk, completely or not at all. On SIGHUP it reads
/// the file again. On a new menu from the chain, it combines this menu with the operator's change in
/// force; on a new change of an operator, it combines this change with the menu in force. Both use
/// the text of the file that was last applied.
struct ReloadService: Service {
  let options: ConfigurationOptions
  /// The text that the kiosk started with; `configuration` is its parsed form.
  let text: KioskConfiguration.Text
  let configuration: KioskConfiguration
  let menus: MenuMailbox
  let controller: Controller
  let manager: ServiceManager?
  let logger: Logger
  /// The SIGHUP signals, trapped before any service starts.
  let hangups: UnixSignalsSequence
  private let start = ContinuousClock.now

  private enum Call {
    case hangup, menu
    case settings(ParsedDelivery)
  }

  private struct Running {
    var text: KioskConfiguration.Text
    var configuration: KioskConfiguration
    var refusedMenus = LineLimit()
    var changesOfSettings = LineLimit()

    /// Returns the state with another configuration of the same text.
    func with(_ configuration: KioskConfiguration) -> Self {
      var new = self
      new.configuration = configuration
      return new
    }
  }

  func run() async {
    var running = Running(text: text, configuration: configuration)
    let (calls, call) = AsyncStream.makeStream(of: Call.self)
    await withDiscardingTaskGroup { group in
      group.addTask { for await _ in hangups { call.yield(.hangup) } }
      group.addTask { for await _ in menus.arrivals { call.yield(.menu) } }
      group.addTask { for await each in controller.settingsChanges { call.yield(.settings(each)) } }
      for await call in calls.cancelOnGracefulShutdown() {
        switch call {
        case .hangup: running = await hangUp(after: running)
        case .menu: running = await takeMenu(after: running)
        case .settings(let parsed): running = await takeSettings(parsed, after: running)
        }
      }
      group.cancelAll()
    }
  }

  // MARK: Configuration file

  private func hangUp(after running: Running) async -> Running {
    manager?.beginReload()
    defer { manager?.endReload() }
    do {
      let new = try await reload(after: running)
      logger.notice("the new configuration is taken")
      let report = new.configuration.menuReport
      if report != running.configuration.menuReport { menus.report(report) }
      return new
    } catch {
      let problems = "\(error)".split(separator: "\n")
      let more =
        problems.count > 1 ? " (\(problems.count - 1) more: juice-kiosk check lists all)" : ""
      logger.error("the new configuration is not taken: \(problems.first ?? "")\(more)")
      return running
    }
  }

  private func reload(after running: Running) async throws -> Running {
    let text = try options.text()
    var configuration = try text.withMenu()
    // If the stored menu cannot be used or the stored change cannot be read, the one in force applies. If the
    // menu in force does not fit the new file, this function throws, and the kiosk changes nothing.
    var (menu, settings) = (configuration.desiredMenu, configuration.settings)
    var (menuProblem, settingsProblem) = (configuration.menuProblem, configuration.settingsProblem)
    if let problem = menuProblem {
      logger.warning("the stored menu of the chain cannot be used: \(problem)")
      menu = running.configuration.desiredMenu
      if menu != nil { menuProblem = nil }
    }
    if let problem = settingsProblem {
      logger.warning("the stored change of the settings cannot be used: \(problem)")
      settings = running.configuration.settings
      if settings != nil { settingsProblem = nil }
    }
    if menu != configuration.desiredMenu || settings != configuration.settings {
      configuration = try text.configuration(under: menu, with: settings)
      (configuration.menuProblem, configuration.settingsProblem) = (menuProblem, settingsProblem)
    }
    let fixed = configuration.changesForRestart(from: running.configuration)
    guard fixed.isEmpty else {
      throw Failure.badConfiguration(
        "a change of \(fixed.joined(separator: ", ")) needs a restart; until then nothing changes"
      )
    }
    switch await reload(configuration) {
    case .taken:
      var new = running.with(configuration)
      new.text = text
      return new
    case .refused(let error): throw error
    case .stopped: throw Failure.tryAgain("the kiosk is stopping")
    }
  }

  private func reload(_ configuration: KioskConfiguration) async -> Controller.ReloadOutcome {
    await controller.reload(
      KioskSettings(
        configuration, retainedTopics: await controller.retainedTopics,
        stock: await controller.stock))
  }

  // MARK: Menu from the chain

  private func takeMenu(after running: Running) async -> Running {
    guard let menu = menus.takeDesired(), let file = running.configuration.menuFile else {
      return running
    }
    let old = running.configuration.desiredMenu
    guard menu != old else {
      menus.report(.taken(version: menu.version))
      return running
    }
    do {
      let new = try running.text.configuration(
        under: menu, with: running.configuration.settings)
      if let objection = try await controller.objection(to: new.menu) {
        throw Failure.badConfiguration(objection)
      }
      // Writes the file before the reload, so that a start after a crash uses the same menu.
      try file.replace(old, with: menu)
      switch await reload(new) {
      case .taken:
        logger.notice("menu \(menu.version) of the chain is taken instead of the file's menu")
        menus.report(.taken(version: menu.version))
        return running.with(new)
      case .refused(let error):
        try file.store(old)
        throw error
      case .stopped:
        // The next start uses this menu and reports it.
        return running.with(new)
      }
    } catch {
      let detail = summary(of: error)
      var next = running
      if let more = next.refusedMenus.admit(at: ContinuousClock.now - start) {
        logger.warning("menu \(menu.version) of the chain is refused: \(detail)\(more)")
      }
      menus.report(.refused(version: menu.version, detail: String(detail.prefix(1000))))
      return next
    }
  }

  // MARK: Change of an operator

  private func takeSettings(_ parsed: ParsedDelivery, after running: Running) async -> Running {
    guard case .success(let request) = parsed.request, let id = request.id,
      case .settings(let command) = request.command
    else { return running }
    var result = CommandResult(status: .applied)
    result.id = id
    let (old, file) = (running.configuration.settings, running.configuration.settingsFile)
    if id == old?.id, parsed.source.name == old?.by {
      result.isDuplicate = true
      await controller.answer(parsed, result)
      return running
    }
    do {
      // An id belongs to its topic: another operator may choose the same one.
      guard id != old?.id else {
        throw parsed.rejection(
          .conflict, "the settings have changed: another sender has the same id; choose a new one")
      }
      guard command.replaced == old?.id else {
        throw parsed.rejection(
          .conflict, "the settings have changed: \(old.map { "by \($0.by)" } ?? "dropped")")
      }
      let settings = StoredSettings(
        id: id, by: parsed.source.name, at: .now, change: command.change)
      var new = try running.text.configuration(
        under: running.configuration.desiredMenu, with: settings)
      // The change of the settings does not repair the stored menu.
      new.menuProblem = running.configuration.menuProblem
      if let flaw = new.unusedSettings.first { throw parsed.rejection(flaw.reason, flaw.detail) }
      if let objection = try await controller.objection(to: new.menu) {
        throw parsed.rejection(.conflict, objection)
      }
      // Writes the file before the reload, so that a start after a crash uses the same change.
      try file.replace(old, with: settings)
      switch await reload(new) {
      case .taken:
        var next = running.with(new)
        if let more = next.changesOfSettings.admit(at: ContinuousClock.now - start) {
          let (before, now) = (running.configuration.settingsDifferences, new.settingsDifferences)
          let differences = now + before.filter { !now.contains($0) }.map { "no longer: \($0)" }
          let what = differences.isEmpty ? "" : ": \(differences.joined(separator: ", "))"
          logger.notice("\(settings.by) has changed the settings\(what)\(more)")
        }
        await controller.answer(parsed, result)
        return next
      case .refused(let error):
        try file.store(old)
        throw error
      case .stopped:
        // The next start uses the change.
        return running.with(new)
      }
    } catch {
      let rejection =
        error as? Rejection
        ?? parsed.rejection(.notRecorded, String(summary(of: error).prefix(1000)))
      await controller.answer(parsed, CommandResult(rejection))
      return running
    }
  }
}
