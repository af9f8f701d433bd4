import JuiceDomain
package import KioskCore
import KioskMessages
package import Ledger
package import Logging
package import MessageBroker

/// Carries the ledger up, to the broker where a chain's kiosks meet, and answers an archive that has
/// missed something.
///
/// The kiosk knows nothing of it: it reads the ledger by a connection of its own, and lives on its
/// own broker's executor. What a line that is cut, a broker that loses its memory or a month away
/// keep it from telling stays in the ledger, and is told when it can be.
package actor Uplink {
  /// How it stands with the broker up there.
  private enum Line {
    case closed(since: Duration)
    /// The kiosk tells, and subscribes at that time to what comes down.
    case telling(until: Duration)
    case subscribing
    /// It has subscribed, or is not allowed to.
    case hearing
  }

  package nonisolated var unownedExecutor: UnownedSerialExecutor { broker.unownedExecutor }

  private let settings: UplinkSettings
  private let broker: any BrokerClient
  private let ledger: KioskLedger
  private let outbox: Outbox
  private let menus: MenuDesk
  private let clock: KioskClock
  private let chance: @Sendable () -> Double
  private let logger: Logger

  private var line: Line
  /// Another one for each connection. RabbitMQ (3.10) deletes the queues of a node that has died by their
  /// names, when it notices and when that node is back: those, too, that clients have declared at another
  /// node by then. Their connections stay open, and hear nothing.
  private var clientID: String
  /// The longest wait before it subscribes, where it has lost the line before it heard.
  private var hesitation = Duration.zero
  /// When the kiosk says once more that it is there.
  private var statusAt: Duration?
  private var dispatch: Dispatch
  /// What archives may ask: each question costs some looks into the ledger. More is not answered, and
  /// asked again.
  private var questions = Allowance(perSecond: 20)
  /// The running number that was read last. It counts once an event shows that the broker has refused
  /// nothing up to it; see `Session.takeEvent`.
  private var confirmed: UInt64 = 0
  private var healthAt: Duration?
  private var failedAt: Duration?

  /// Often enough that what is new leaves soon, and that nobody notices what it costs.
  private static let look = Duration.milliseconds(250)
  private static let healthInterval = Duration.seconds(300)
  /// Between two attempts to read a ledger that cannot be read.
  private static let patience = Duration.seconds(10)
  /// The longest time for which a kiosk that tells does not hear, and where it has lost the line again and
  /// again before it heard.
  private static let longestDeafness = Duration.seconds(60)
  private static let longestHesitation = Duration.seconds(600)
  /// A broker tells the will of a connection that was cut when it has heard nothing for one and a half times
  /// the keep-alive. By then the kiosk may be back, and would seem to be away.
  private static let latestWill = Duration.seconds(30)

  /// - Parameters:
  ///   - ledger: opened to be read only.
  ///   - outbox: the one of the controller that writes the ledger.
  ///   - menus: where somebody takes the menus that come down.
  ///   - chance: from 0 to 1, for what is left to chance; asked each time.
  /// - Throws: `LedgerError` if it cannot be read.
  package init(
    settings: UplinkSettings, broker: any BrokerClient, ledger: sending KioskLedger,
    outbox: Outbox, menus: MenuDesk, clock: KioskClock,
    chance: @escaping @Sendable () -> Double = { .random(in: 0...1) }, logger: Logger
  ) throws(LedgerError) {
    self.settings = settings
    self.broker = broker
    self.ledger = ledger
    self.outbox = outbox
    self.menus = menus
    self.clock = clock
    self.chance = chance
    self.logger = logger
    var limits = Dispatch.Limits()
    limits.pace = settings.pace
    dispatch = Dispatch(cursor: try ledger.uplinked(), limits: limits)
    line = .closed(since: clock.now().uptime)
    clientID = Self.clientID(settings, chance)
    outbox.delivered(through: dispatch.cursor)
    outbox.saved(through: dispatch.cursor)
  }

  /// Runs until the task is cancelled, then takes its leave within half a second.
  package func run() async {
    await broker.connect(options)
    var wait = Duration.zero
    while !Task.isCancelled {
      let event = await broker.nextEvent(timeout: min(wait, Self.look))
      await handle(event)
      // Something has been confirmed that only the next look may count.
      let seen = await broker.confirmed
      let isBehind = seen != confirmed
      confirmed = seen
      dispatch.recorded(through: outbox.recorded)
      await subscribe()
      await tellStatus()
      await tellHealth()
      await tellMenu()
      wait = await proceed()
      if isBehind { wait = .zero }
    }
    await leave()
  }

  /// A session without a memory, and nothing that has to be kept for it: whoever wants something of
  /// the kiosk says it again until it is done.
  private var options: SessionOptions {
    var limits = MessageLimits.commands
    limits.payload = DesiredMenu.maximumSize
    // What is too large is told, and not passed over by the broker.
    limits.packet = 4 * limits.payload
    let filters: [String] =
      switch line {
      case .closed, .telling: []
      case .subscribing, .hearing: [settings.topics.replayFilter, settings.topics.desiredMenu]
      }
    var options = SessionOptions(
      clientID: clientID, subscriptions: filters.map(TopicFilter.init(unchecked:)),
      will: settings.topics.status(.offline), keepAlive: 10, limits: limits)
    options.subscriptionQoS = .atMostOnce
    return options
  }

  private static func clientID(_ settings: UplinkSettings, _ chance: () -> Double) -> String {
    "\(settings.clientID)-\(UInt32(chance() * Double(UInt32.max)))"
  }

  private var isOpen: Bool { if case .closed = line { false } else { true } }

  private var now: Duration { clock.now().uptime }

  /// When a kiosk subscribes that is let in now. A subscription costs a broker four times what it costs to
  /// let a client in, and what comes down is said again. So of a thousand that come back at once, all can
  /// tell before most can hear, and the broker has time for those that tell.
  private var subscribesAt: Duration {
    guard case .closed(let since) = line else { return now }
    return now + max(min((now - since) * 16, Self.longestDeafness), hesitation) * chance()
  }

  private func subscribe() async {
    guard case .telling(let until) = line, now >= until else { return }
    line = .subscribing
    await broker.update(options)
  }

  // MARK: What is heard

  private func handle(_ event: BrokerEvent?) async {
    switch event {
    case .confirmed, nil:
      dispatch.confirmed(through: confirmed)
      outbox.delivered(through: dispatch.cursor)
    case .online:
      line = .telling(until: subscribesAt)
      dispatch.online()
      statusAt = now + Self.latestWill
      await publish([settings.topics.status(.online)])
      logger.notice("the way up is open: \(dispatch.last - dispatch.cursor) entries to tell")
    case .offline(let error):
      if isOpen {
        // Whoever subscribes to a broker that is too busy makes it busier.
        if case .hearing = line {
          hesitation = .zero
        } else {
          hesitation = min(max(hesitation * 2, Self.longestDeafness), Self.longestHesitation)
        }
        line = .closed(since: now)
        clientID = Self.clientID(settings, chance)
        await broker.update(options)
      }
      dispatch.connectionLost()
      logger.warning("the way up is closed: \(error)")
    case .refused(let topics):
      for (topic, reason) in topics.sorted(by: { $0.key < $1.key }) {
        logger.warning("\(BrokerError.publishRefused(topic: topic, reason: reason))")
      }
      if topics[settings.topics.events] != nil { dispatch.refused(at: now) }
    case .deliveries(let deliveries):
      var answers: [Message] = []
      for delivery in deliveries {
        guard questions.available(at: now) > 0 else { continue }
        questions.take(1)
        if let answer = answer(delivery) { answers.append(answer) }
      }
      await publish(answers)
      await broker.settle()
    case .updated(let refusal):
      guard case .subscribing = line else { break }
      line = .hearing
      if let refusal { logger.warning("nothing comes down: \(refusal)") }
      await publish([message(menus.standing)])
    case .sessionBegan:
      break
    }
  }

  private func answer(_ delivery: Delivery) -> Message? {
    guard delivery.message.topic != settings.topics.desiredMenu else {
      return hearMenu(delivery).map(message)
    }
    guard let archive = settings.topics.archive(askingOn: delivery.message.topic) else {
      return nil
    }
    let result = result(of: delivery, from: archive)
    return Message(
      topic: settings.topics.replayResult(for: archive), payload: result.payload)
  }

  /// - Returns: what is to be said at once.
  private func hearMenu(_ delivery: Delivery) -> DesiredMenuReport? {
    let message = delivery.message
    if let excess = delivery.excess {
      let limit = "\(DesiredMenu.maximumSize) bytes are read"
      return .refused(version: nil, detail: "the \(excess.rawValue) is too large: \(limit)")
    }
    // What a broker has kept was wanted at some other time.
    if message.retain {
      logger.warning("a retained message on \(message.topic) is passed over")
      return nil
    }
    do throws(JSONError) {
      menus.leave(try DesiredMenu(payload: message.payload))
      return nil
    } catch {
      return .refused(version: nil, detail: "\(error)")
    }
  }

  private func message(_ report: DesiredMenuReport) -> Message {
    Message(topic: settings.topics.reportedMenu, payload: report.payload)
  }

  private func result(of delivery: Delivery, from archive: Request.ID) -> ReplayResult {
    if let excess = delivery.excess {
      return .rejected(nil, .malformed, detail: "the \(excess.rawValue) is too large")
    }
    // What a broker has kept was asked for at some other time.
    if delivery.message.retain {
      return .rejected(nil, .malformed, detail: "a request must not be retained")
    }
    let request: ReplayRequest
    do throws(JSONError) {
      request = try ReplayRequest(payload: delivery.message.payload)
    } catch {
      return .rejected(nil, .malformed, detail: "\(error)")
    }
    do throws(LedgerError) {
      guard let (entries, before) = try ledger.entries(of: request.epoch) else {
        return .rejected(
          request.id, .unknownEpoch, detail: "the ledger has no entry of epoch \(request.epoch)")
      }
      guard entries.overlaps(request.range) else {
        return .rejected(
          request.id, .outOfRange,
          detail: "epoch \(request.epoch) has the entries \(entries.lowerBound) to "
            + "\(entries.upperBound)")
      }
      let range = request.range.clamped(to: entries)
      return dispatch.requested(
        request.id, by: archive, epoch: request.epoch, entries: range,
        before: range.lowerBound == entries.lowerBound ? before : nil)
    } catch {
      noteFailure(error)
      return .rejected(request.id, .busy, detail: "the ledger cannot be read now")
    }
  }

  // MARK: What is told

  /// Publishes a page at most.
  ///
  /// - Returns: how long there is nothing more to do.
  private func proceed() async -> Duration {
    if let failedAt {
      let rest = failedAt + Self.patience - now
      guard rest <= .zero else { return rest }
      self.failedAt = nil
    }
    do throws(LedgerError) {
      switch dispatch.next(at: now) {
      case .wait(let duration): return duration ?? Self.look
      case .publish(let seq, let count):
        let page = try ledger.rows(after: seq, limit: count).map(\.row.entry)
        // One that is committed and cannot be seen yet is seen at the next look.
        guard let last = page.last else { return Self.look }
        let serial = await publish(page.map(settings.topics.event))
        dispatch.published(through: last.seq, serial: serial)
      case .replay(let replay, let count):
        let page = try ledger.rows(after: replay.next - 1, limit: count).map(\.row.entry)
        guard let last = page.last else { return Self.look }
        let serial = await publish(page.map(settings.topics.event))
        guard let done = dispatch.replayed(replay, through: last.seq, serial: serial) else { break }
        await publish([
          Message(
            topic: settings.topics.replayResult(for: done.archive),
            payload: ReplayResult.done(done.id, epoch: done.epoch, done.range).payload)
        ])
      }
      return .zero
    } catch {
      noteFailure(error)
      return Self.patience
    }
  }

  @discardableResult
  private func publish(_ messages: [Message]) async -> UInt64 {
    do throws(BrokerError) {
      return try await broker.publish(messages)
    } catch {
      // What no broker can take is passed over, or nothing would leave any more.
      logger.error("\(error)")
      return (try? await broker.publish([])) ?? 0
    }
  }

  private func tellStatus() async {
    guard isOpen, let statusAt, now >= statusAt else { return }
    self.statusAt = nil
    await publish([settings.topics.status(.online)])
  }

  /// The kiosk's own health, but seldom: thousands of kiosks tell it.
  private func tellHealth() async {
    guard isOpen, healthAt.map({ now - $0 >= Self.healthInterval }) ?? true,
      let health = outbox.health
    else { return }
    healthAt = now
    await publish([settings.topics.retained(settings.topics.health, health)])
  }

  /// Behind what the kiosk sells by, which it tells on each connection.
  private func tellMenu() async {
    guard case .hearing = line, let report = menus.takeReport() else { return }
    await publish([message(report)])
  }

  private func noteFailure(_ error: LedgerError) {
    failedAt = now
    logger.error("the way up waits, the ledger cannot be read: \(error)")
  }

  private func leave() async {
    if isOpen {
      dispatch.recorded(through: outbox.recorded)
      _ = await proceed()
      await publish([settings.topics.status(.offline)])
    }
    await broker.disconnect(grace: .milliseconds(400))
  }
}
