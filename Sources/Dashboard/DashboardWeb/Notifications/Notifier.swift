package import CommandLineSupport
import Dispatch
package import Fleet
import JuiceDomain
import KioskProtocol
package import Logging
import ServiceLifecycle

/// Notifies the receivers of alerts that begin and of alerts that are resolved.
///
/// Stores a message on disk before sending it, unless the disk fails. Deletes it when all receivers
/// have received it, or after `NotificationQueue.maximumAge`. If the process is killed in between,
/// the next process sends the message again, with the same id.
package actor Notifier: Service {
  /// A mailbox or an HTTP URL.
  package struct Receiver: Sendable {
    /// The unique name of the receiver.
    package let name: String
    /// Maximum length of a text, or `nil` if there is no limit.
    package let maximumLength: NotificationFormatter.MaximumLength?
    package let send: @Sendable (Notification) async -> Outcome

    package init(
      _ name: String, maximumLength: NotificationFormatter.MaximumLength? = nil,
      send: @escaping @Sendable (Notification) async -> Outcome
    ) {
      (self.name, self.maximumLength, self.send) = (name, maximumLength, send)
    }
  }

  /// The alerts that a notifier is about.
  package struct Scope: Sendable {
    /// The user who has chosen the alerts, or `nil` for those of the configuration.
    var user: User.Name?
    /// Returns the kiosks whose alerts are sent.
    var fleet: @Sendable (KioskFleet) -> KioskFleet = { $0 }
    var includes: @Sendable (Alert) -> Bool = { _ in true }
    /// Returns whether nothing is sent now. An alert that begins and ends meanwhile is not sent.
    var isQuiet: @Sendable () -> Bool = { false }

    package static let all = Self()
  }

  package enum Outcome: Sendable {
    case delivered
    /// The receiver refuses this message, but may accept others.
    case refused(String)
    /// The receiver accepts no message now.
    case failed(String)
  }

  private let link: KioskLink
  private let formatter: NotificationFormatter
  private let receivers: [Receiver]
  private let rules: AlertEvaluator.Rules
  private let scope: Scope
  private let sent: SentMessages
  private let file: StateFile<[UInt8]>
  private let logger: Logger
  /// The serial dispatch queue that writes the state, because fsync blocks the calling thread.
  private let disk = DispatchQueue(label: "alerts")
  private let signals: [(new: AsyncStream<Void>, signal: AsyncStream<Void>.Continuation)]

  private let startedAt = ContinuousClock.now
  private var evaluator: AlertEvaluator
  private var queue: NotificationQueue
  /// Whether the state is stored on disk, or is being written.
  private var isSaved = true
  /// Number of unfinished writes.
  private var writes = 0
  /// The current problem of the disk or of a receiver, by name. Each one is logged once.
  private var problems: [String: String] = [:]

  /// Creates a notifier.
  ///
  /// - Parameter state: The state of the notifier that the new one replaces, or `nil` to use the
  ///   state that an earlier process has stored in `folder`.
  package init(
    link: KioskLink, formatter: NotificationFormatter, receivers: [Receiver],
    rules: AlertEvaluator.Rules, scope: Scope = .all,
    folder: StateFolder, sent: SentMessages, state: [UInt8]?, logger: Logger
  ) {
    (self.link, self.formatter, self.receivers, self.rules) = (link, formatter, receivers, rules)
    (self.scope, self.sent) = (scope, sent)
    (file, self.logger) = (Self.file(in: folder, of: scope.user), logger)
    signals = receivers.map { _ in AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }
      .map { (new: $0.stream, signal: $0.continuation) }
    (evaluator, queue) = (AlertEvaluator(rules), NotificationQueue())
    let (stored, problem) = state == nil ? file.load() : (state, nil)
    if let problem { logger.error("\(problem)") }
    if let json = stored.flatMap({ try? JSON.parse($0) }) {
      evaluator = AlertEvaluator(
        rules, notified: AlertEvaluator.notified(in: json),
        earlier: AlertEvaluator.earlier(in: json))
      queue = NotificationQueue(
        json, receivers: receivers.map(\.name), at: .now, time: link.time)
    }
    isSaved = false
    guard state == nil else { return }
    do throws(StateError) {
      try file.write(Self.payload(evaluator, queue))
      isSaved = true
    } catch {
      problems["saving notifications"] = "\(error)"
      logger.error("saving notifications: \(error); trying again")
    }
  }

  /// The file of the alerts that were sent and of the messages that wait.
  ///
  /// - Parameter user: The user who has chosen the alerts, or `nil` for those of the configuration.
  static func file(in folder: StateFolder, of user: User.Name? = nil) -> StateFile<[UInt8]> {
    StateFile(
      folder.path(of: user.map { "alerts-\($0).json" } ?? "alerts.json"),
      // Twice the size of a file with 10,000 alerts and 100 queued messages about 10,000 alerts.
      upTo: 16 << 20, makesFolder: true, withoutCopy: "current alerts are sent again",
      encode: \.self,
      decode: { payload in
        _ = try JSON.parse(payload)
        return payload
      })
  }

  /// The alerts and messages as JSON, for the notifier that replaces this one.
  package var state: [UInt8] { Self.payload(evaluator, queue) }

  package func run() async {
    await cancelWhenGracefulShutdown { await self.runTasks() }
  }

  private func runTasks() async {
    await withDiscardingTaskGroup { group in
      for (receiver, signal) in zip(receivers, signals) {
        group.addTask { await self.deliver(to: receiver, at: signal.new) }
      }
      // Each sleep throws only if the task is cancelled, here and below.
      // The notifiers of users together cost less than the one of the configuration.
      let pause = Duration.seconds(scope.user == nil ? 1 : 5)
      while (try? await Task.sleep(for: min(pause, rules.quietPeriod))) != nil {
        await evaluateAlerts()
      }
    }
  }

  private func evaluateAlerts() async {
    let isQuiet = scope.isQuiet()
    let (now, instant) = (link.time, ContinuousClock.now)
    let fleet = scope.fleet(link.fleet)
    let isConnected = link.connectionError == nil
    // After a start, the kiosks' state must arrive before the evaluator can detect resolved alerts.
    let isSettled = isConnected && instant - startedAt >= rules.quietPeriod * 3
    let expired = isSettled && !isQuiet ? queue.removeExpired(at: instant) : []
    if !expired.isEmpty {
      logger.error(
        "\(expired.count) messages could not be delivered for a day: what is still true is sent anew"
      )
    }
    for entry in expired { sendAnew([entry], fleet, at: instant, now: now) }
    let transitions = evaluator.evaluate(
      fleet, isConnected: isConnected, at: instant, now: now, isQuiet: isQuiet,
      where: scope.includes)
    if !transitions.isEmpty {
      let notification = formatter.notification(of: transitions, in: fleet, at: now)
      logger.notice("notification: \(notification.subject)")
      queue.append(notification, about: transitions, for: receivers.map(\.name), at: instant)
    }
    while case let surplus = queue.removeSurplus(), !surplus.isEmpty {
      logger.error(
        "more than \(NotificationQueue.limit) messages wait: one replaces the two oldest")
      sendAnew(surplus, fleet, at: instant, now: now)
    }
    guard !expired.isEmpty || !transitions.isEmpty else { return }
    isSaved = false
    await save()
    for signal in signals { signal.signal.yield() }
  }

  /// Queues one message in place of the discarded messages, for receivers that have not received
  /// all of them. The message reports the current state of each alert, but not of alerts that have
  /// returned to their state before the discarded messages. If no alert remains, queues nothing.
  private func sendAnew(
    _ entries: [NotificationQueue.Entry], _ fleet: KioskFleet,
    at instant: ContinuousClock.Instant, now: Timestamp
  ) {
    let transitions = entries.flatMap(\.transitions).compactMap { transition in
      let alert = transition.alert
      let isActive = evaluator.notified[alert] != nil
      return isActive == transition.isResolved
        ? nil
        : AlertEvaluator.Transition(
          alert, isResolved: !isActive,
          since: evaluator.beginning(of: alert, at: instant, now: now),
          isEarlier: transition.isEarlier)
    }
    guard !transitions.isEmpty else { return }
    let waiting = Set(entries.flatMap(\.receivers))
    queue.append(
      formatter.notification(of: transitions, in: fleet, at: now), about: transitions,
      for: receivers.map(\.name).filter(waiting.contains), at: instant)
  }

  private func deliver(to receiver: Receiver, at new: AsyncStream<Void>) async {
    // The first quiet period also delays the messages of an earlier process.
    guard (try? await Task.sleep(for: rules.quietPeriod)) != nil else { return }
    var pause = rules.quietPeriod / 4
    repeat {
      while await !deliverAll(to: receiver) {
        guard (try? await Task.sleep(for: pause)) != nil else { return }
        pause = min(pause * 2, rules.quietPeriod * 10)
      }
      pause = rules.quietPeriod / 4
    } while await new.first { _ in true } != nil
  }

  /// Sends the queued messages to a receiver.
  ///
  /// - Returns: `false` if the receiver has refused a message or accepts none now.
  private func deliverAll(to receiver: Receiver) async -> Bool {
    var refused: Set<Notification.ID> = []
    while !Task.isCancelled, !scope.isQuiet(),
      let (notification, age) = queue.next(for: receiver.name, except: refused, at: .now)
    {
      await save()
      let message = formatter.fitting(
        formatter.markedAsLate(notification, age: age), in: receiver.maximumLength)
      switch await receiver.send(message) {
      case .delivered:
        queue.markDelivered(notification.id, to: receiver.name)
        await record(message, to: receiver, nil)
        isSaved = false
        await save()
        if refused.isEmpty { report(nil, about: receiver.name) }
      case .refused(let problem):
        if problems[receiver.name] != problem { await record(message, to: receiver, problem) }
        report(problem, about: receiver.name)
        refused.insert(notification.id)
      case .failed(let problem):
        if !Task.isCancelled { report(problem, about: receiver.name) }
        return false
      }
    }
    return refused.isEmpty && !(scope.isQuiet() && queue.count > 0)
  }

  private func record(
    _ message: Notification, to receiver: Receiver, _ problem: String?
  ) async {
    await sent.record(
      SentMessage(
        at: link.time, receiver: receiver.name, user: scope.user, subject: message.subject,
        text: message.text, problem: problem))
  }

  /// Stores the state. Returns when the current state or a later one is on disk, or when writing
  /// has failed.
  private func save() async {
    guard !isSaved || writes > 0 else { return }
    let data = isSaved ? nil : Self.payload(evaluator, queue)
    isSaved = true
    writes += 1
    let error = await withCheckedContinuation { continuation in
      // `disk` is serial, so all earlier writes have ended when this block runs.
      disk.async { [file] in
        do throws(StateError) {
          if let data { try file.write(data) }
          continuation.resume(returning: nil as StateError?)
        } catch {
          continuation.resume(returning: error)
        }
      }
    }
    writes -= 1
    if error != nil { isSaved = false }
    if data != nil { report(error?.description, about: "saving notifications") }
  }

  /// Logs a change of a problem.
  ///
  /// - Parameter problem: The problem, or `nil` if it is resolved.
  private func report(_ problem: String?, about name: String) {
    guard problems[name] != problem else { return }
    problems[name] = problem
    if let problem {
      logger.error("\(name): \(problem); trying again")
    } else {
      logger.notice("\(name): works again")
    }
  }

  private static func payload(_ evaluator: AlertEvaluator, _ queue: NotificationQueue) -> [UInt8] {
    JSONWriter.object { json in
      evaluator.write(to: &json)
      queue.write(to: &json)
    }
  }
}
