import CommandLineSupport
package import Fleet
import JuiceDomain
import KioskProtocol
import Logging
import ServiceLifecycle

/// Sends each user the chosen messages by mail: a `Notifier` for each choice.
package actor UserMessages: Service {
  /// The mail server and the rules of the configuration.
  package struct Setup: Sendable {
    let baseURL: String
    let rules: AlertEvaluator.Rules
    /// Returns the receiver with a mail address.
    let receiver: @Sendable (String) -> Notifier.Receiver

    package init(
      baseURL: String, rules: AlertEvaluator.Rules,
      receiver: @escaping @Sendable (String) -> Notifier.Receiver
    ) {
      (self.baseURL, self.rules, self.receiver) = (baseURL, rules, receiver)
    }
  }

  private struct Running {
    let choice: MessageChoice
    let generation: Int
    let notifier: Notifier
    let task: Task<Void, Never>
  }

  /// Maximum number of users with messages, each of which evaluates all alerts.
  static let maximum = 50

  private let link: KioskLink
  private let users: UserFile
  private let folder: StateFolder
  private let file: StateFile<[User.Name: MessageChoice]>
  private let sent: SentMessages
  private let logger: Logger
  private var setup: Setup?
  /// The number of changes of the setup.
  private var generation = 0
  private var choices: [User.Name: MessageChoice]?
  private var running: [User.Name: Running] = [:]
  /// The users at the last call of `removeState`.
  private var kept: Set<User.Name> = []
  private nonisolated let executor = DiskExecutor(label: "messages of users")
  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    executor.asUnownedSerialExecutor()
  }

  init(
    link: KioskLink, users: UserFile, folder: StateFolder, sent: SentMessages, logger: Logger
  ) {
    (self.link, self.users, self.folder, self.logger) = (link, users, folder, logger)
    (file, self.sent) = (Self.file(in: folder), sent)
  }

  /// The file of the choices.
  static func file(in folder: StateFolder) -> StateFile<[User.Name: MessageChoice]> {
    StateFile(
      folder.path(of: "messages.json"), upTo: 4 << 20, makesFolder: true,
      withoutCopy: "users choose their messages again", encode: payload(of:),
      decode: choices(in:))
  }

  /// Replaces the setup; `nil` without a mail server.
  package func use(_ setup: Setup?) {
    self.setup = setup
    generation += 1
  }

  /// Whether there is a mail server.
  var canSend: Bool { setup != nil }

  func choice(of user: User.Name) -> MessageChoice? { loaded()[user] }

  /// Stores the choice of a user, or removes it if `choice` is `nil`.
  ///
  /// - Returns: `false` if too many users have messages.
  func set(_ choice: MessageChoice?, of user: User.Name) throws(StateError) -> Bool {
    var choices = loaded()
    choices[user] = choice
    guard choices.count <= Self.maximum else { return false }
    try file.write(choices)
    self.choices = choices
    return true
  }

  package func run() async {
    await cancelWhenGracefulShutdown {
      repeat { await self.update() } while (try? await Task.sleep(for: .seconds(1))) != nil
    }
    for user in running.keys { await end(user) }
  }

  /// Starts and ends notifiers as users have chosen.
  func update() async {
    let current = users.current
    let known = current.users
    if current.problem == nil { removeChoices(exceptOf: known) }
    let wanted = loaded().filter { name, _ in
      setup != nil && known[name].map { $0.role != .driver } ?? false
    }
    var states: [User.Name: [UInt8]] = [:]
    for (user, old) in running
    where old.generation != generation || wanted[user] != old.choice {
      await end(user)
      if wanted[user] == old.choice {
        // From memory: the disk may fail.
        states[user] = await old.notifier.state
      } else {
        // What the user has not chosen any more is neither sent nor resolved.
        remove(Notifier.file(in: folder, of: user))
      }
    }
    if current.problem == nil { await removeState(exceptOf: Set(known.keys)) }
    // Not earlier: `use` may have replaced it since.
    guard let setup else { return }
    for (user, choice) in wanted where running[user] == nil {
      let notifier = notifier(of: user, choice, setup, state: states[user])
      running[user] = Running(
        choice: choice, generation: generation, notifier: notifier,
        task: Task { await notifier.run() })
    }
  }

  /// Removes the choices of removed users, so that a later user of the same name gets no messages to
  /// an address of another person.
  private func removeChoices(exceptOf known: [User.Name: User]) {
    let kept = loaded().filter { known[$0.key] != nil }
    guard kept.count < loaded().count else { return }
    do throws(StateError) {
      try file.write(kept)
      choices = kept
    } catch { logger.error("\(error)") }
  }

  /// Removes the messages and the alerts of removed users, also of those who were removed while the
  /// dashboard did not run. A later user of the same name is another person.
  private func removeState(exceptOf known: Set<User.Name>) async {
    guard known != kept else { return }
    kept = known
    await sent.removeMessages(exceptOf: known)
    do throws(StateError) {
      for name in try Disk.names(in: folder.path(of: "")) {
        guard name.hasPrefix("alerts-"), name.hasSuffix(".json"),
          let user = User.Name(name.dropFirst("alerts-".count).dropLast(".json".count)),
          !known.contains(user)
        else { continue }
        try Notifier.file(in: folder, of: user).remove()
      }
    } catch { logger.error("\(error)") }
  }

  private func end(_ user: User.Name) async {
    let old = running.removeValue(forKey: user)
    old?.task.cancel()
    await old?.task.value
  }

  private func remove(_ file: StateFile<[UInt8]>) {
    do throws(StateError) { try file.remove() } catch { logger.error("\(error)") }
  }

  private func notifier(
    of user: User.Name, _ choice: MessageChoice, _ setup: Setup, state: [UInt8]?
  ) -> Notifier {
    let (link, users) = (link, users)
    let own: @Sendable (KioskFleet) -> KioskFleet = { fleet in
      let regions = users.current.users[user]?.regions
      return fleet.limited { kiosk in
        guard choice.kiosks?.contains(kiosk.id) ?? true else { return false }
        // guard: a message is only about kiosks that the user may see
        return regions.map { $0.isEmpty || kiosk.region.map($0.contains) ?? false } ?? false
      }
    }
    return Notifier(
      link: link, formatter: NotificationFormatter(choice.language, baseURL: setup.baseURL),
      receivers: [setup.receiver(choice.address)], rules: setup.rules,
      scope: Notifier.Scope(
        user: user,
        fleet: own,
        includes: { choice.kinds.contains($0.problem?.group ?? .offline) },
        isQuiet: { choice.isQuiet(at: link.time, in: own(link.fleet)) }),
      folder: folder, sent: sent, state: state, logger: logger)
  }

  private func loaded() -> [User.Name: MessageChoice] {
    if let choices { return choices }
    let (stored, problem) = file.load()
    if let problem { logger.error("\(problem)") }
    choices = stored ?? [:]
    return stored ?? [:]
  }

  private static func payload(of choices: [User.Name: MessageChoice]) -> [UInt8] {
    JSONWriter.object { json in
      json.member("users", choices.sorted { $0.key < $1.key }) { json, choice in
        json.member("user", choice.key.text)
        choice.value.write(to: &json)
      }
    }
  }

  private static func choices(in payload: [UInt8]) throws -> [User.Name: MessageChoice] {
    guard let elements = try JSON.parse(payload).elements("users") else {
      throw JSONError("'users' is missing")
    }
    return try elements.reduce(into: [:]) { choices, element in
      guard let user = element.text("user").flatMap({ User.Name($0) }),
        let choice = MessageChoice(element)
      else { throw JSONError("a choice is incomplete") }
      choices[user] = choice
    }
  }
}
