import JuiceDomain
package import KioskCore
import KioskProtocol
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
  private enum ConnectionState {
    case closed(since: Duration)
    /// The kiosk tells, and subscribes at that time to what comes down.
    case publishing(until: Duration)
    case subscribing
    /// It has subscribed, or is not allowed to.
    case subscribed
  }

  package nonisolated var unownedExecutor: UnownedSerialExecutor { broker.unownedExecutor }

  private let settings: UplinkSettings
  private let broker: any BrokerClient
  private let ledger: KioskLedger
  private let uplinkProgress: UplinkProgress
  private let menus: MenuMailbox
  private let clock: KioskClock
  private let random: @Sendable () -> Double
  private let logger: Logger

  private var connection: ConnectionState
  /// Another one for each connection. RabbitMQ (3.10) deletes the queues of a node that has died by their
  /// names, when it notices and when that node is back: those, too, that clients have declared at another
  /// node by then. Their connections stay open, and hear nothing.
  private var clientID: String
  /// The longest wait before it subscribes, where it has lost the line before it heard.
  private var subscribeDelay = Duration.zero
  /// When the kiosk says once more that it is there.
  private var statusAt: Duration?
  private var scheduler: UplinkScheduler
  /// What archives may ask: each question costs some looks into the ledger. More is not answered, and
  /// asked again.
  private var requestBucket = TokenBucket(perSecond: 20)
  /// The running number that was read last. It counts once an event shows that the broker has refused
  /// nothing up to it; see `Session.takeEvent`.
  private var confirmed: UInt64 = 0
  private var healthAt: Duration?
  private var failedAt: Duration?

  /// Often enough that what is new leaves soon, and that nobody notices what it costs.
  private static let pollInterval = Duration.milliseconds(250)
  private static let healthInterval = Duration.seconds(300)
  /// Between two attempts to read a ledger that cannot be read.
  private static let retryInterval = Duration.seconds(10)
  /// The longest time for which a kiosk that tells does not hear, and where it has lost the line again and
  /// again before it heard.
  private static let maximumUnsubscribedTime = Duration.seconds(60)
  private static let maximumSubscribeDelay = Duration.seconds(600)
  /// A broker tells the will of a connection that was cut when it has heard nothing for one and a half times
  /// the keep-alive. By then the kiosk may be back, and would seem to be away.
  private static let maximumWillDelay = Duration.seconds(30)

  /// - Parameters:
  ///   - ledger: opened to be read only.
  ///   - uplinkProgress: the one of the controller that writes the ledger.
  ///   - menus: where somebody takes the menus that come down.
  ///   - random: from 0 to 1, for what is left to chance; asked each time.
  /// - Throws: `LedgerError` if it cannot be read.
  package init(
    settings: UplinkSettings, broker: any BrokerClient, ledger: sending KioskLedger,
    uplinkProgress: UplinkProgress, menus: MenuMailbox, clock: KioskClock,
    random: @escaping @Sendable () -> Double = { .random(in: 0...1) }, logger: Logger
  ) throws(LedgerError) {
    self.settings = settings
    self.broker = broker
    self.ledger = ledger
    self.uplinkProgress = uplinkProgress
    self.menus = menus
    self.clock = clock
    self.random = random
    self.logger = logger
    var limits = UplinkScheduler.Limits()
    limits.pace = settings.pace
    scheduler = UplinkScheduler(cursor: try ledger.uplinked(), limits: limits)
    connection = .closed(since: clock.now().uptime)
    clientID = Self.clientID(settings, random)
    uplinkProgress.delivered(through: scheduler.cursor)
    uplinkProgress.saved(through: scheduler.cursor)
  }

  /// Runs until the task is cancelled, then takes its leave within half a second.
  package func run() async {
    await broker.connect(options)
    var wait = Duration.zero
    while !Task.isCancelled {
      let event = await broker.nextEvent(timeout: min(wait, Self.pollInterval))
      await handle(event)
      // Something has been confirmed that only the next look may count.
      let seen = await broker.confirmed
      let isBehind = seen != confirmed
      confirmed = seen
      scheduler.recorded(through: uplinkProgress.recorded)
      await subscribe()
      await publishStatus()
      await publishHealth()
      await publishMenuReport()
      wait = await publishNext()
      if isBehind { wait = .zero }
    }
    await shutDown()
  }

  /// A session without a memory, and nothing that has to be kept for it: whoever wants something of
  /// the kiosk says it again until it is done.
  private var options: SessionOptions {
    var limits = MessageLimits.commands
    limits.payload = DesiredMenu.maximumSize
    // What is too large is told, and not passed over by the broker.
    limits.packet = 4 * limits.payload
    let filters: [String] =
      switch connection {
      case .closed, .publishing: []
      case .subscribing, .subscribed: [settings.topics.replayFilter, settings.topics.desiredMenu]
      }
    var options = SessionOptions(
      clientID: clientID, subscriptions: filters.map(TopicFilter.init(unchecked:)),
      will: settings.topics.status(.offline), keepAlive: 10, limits: limits)
    options.subscriptionQoS = .atMostOnce
    return options
  }

  private static func clientID(_ settings: UplinkSettings, _ random: () -> Double) -> String {
    "\(settings.clientID)-\(UInt32(random() * Double(UInt32.max)))"
  }

  private var isOpen: Bool { if case .closed = connection { false } else { true } }

  private var now: Duration { clock.now().uptime }

  /// When a kiosk subscribes that is let in now. A subscription costs a broker four times what it costs to
  /// let a client in, and what comes down is said again. So of a thousand that come back at once, all can
  /// tell before most can hear, and the broker has time for those that tell.
  private var subscribesAt: Duration {
    guard case .closed(let since) = connection else { return now }
    return now + max(min((now - since) * 16, Self.maximumUnsubscribedTime), subscribeDelay)
      * random()
  }

  private func subscribe() async {
    guard case .publishing(let until) = connection, now >= until else { return }
    connection = .subscribing
    await broker.update(options)
  }

  // MARK: What is heard

  private func handle(_ event: BrokerEvent?) async {
    switch event {
    case .confirmed, nil:
      scheduler.confirmed(through: confirmed)
      uplinkProgress.delivered(through: scheduler.cursor)
    case .online:
      connection = .publishing(until: subscribesAt)
      scheduler.online()
      statusAt = now + Self.maximumWillDelay
      await publish([settings.topics.status(.online)])
      logger.notice("the way up is open: \(scheduler.last - scheduler.cursor) entries to tell")
    case .offline(let error):
      if isOpen {
        // Whoever subscribes to a broker that is too busy makes it busier.
        if case .subscribed = connection {
          subscribeDelay = .zero
        } else {
          subscribeDelay = min(
            max(subscribeDelay * 2, Self.maximumUnsubscribedTime), Self.maximumSubscribeDelay)
        }
        connection = .closed(since: now)
        clientID = Self.clientID(settings, random)
        await broker.update(options)
      }
      scheduler.connectionLost()
      logger.warning("the way up is closed: \(error)")
    case .refused(let topics):
      for (topic, reason) in topics.sorted(by: { $0.key < $1.key }) {
        logger.warning("\(BrokerError.publishRefused(topic: topic, reason: reason))")
      }
      if topics[settings.topics.events] != nil { scheduler.refused(at: now) }
    case .deliveries(let deliveries):
      var answers: [Message] = []
      for delivery in deliveries {
        guard requestBucket.available(at: now) > 0 else { continue }
        requestBucket.take(1)
        if let answer = answer(delivery) { answers.append(answer) }
      }
      await publish(answers)
      await broker.acknowledge()
    case .updated(let refusal):
      guard case .subscribing = connection else { break }
      connection = .subscribed
      if let refusal { logger.warning("nothing comes down: \(refusal)") }
      await publish([message(menus.currentReport)])
    case .sessionBegan:
      break
    }
  }

  private func answer(_ delivery: Delivery) -> Message? {
    guard delivery.message.topic != settings.topics.desiredMenu else {
      return handleMenu(delivery).map(message)
    }
    guard let archive = settings.topics.archive(requestedOn: delivery.message.topic) else {
      return nil
    }
    let result = result(of: delivery, from: archive)
    return Message(
      topic: settings.topics.replayResult(for: archive), payload: result.payload)
  }

  /// - Returns: what is to be said at once.
  private func handleMenu(_ delivery: Delivery) -> DesiredMenuReport? {
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
      menus.post(try DesiredMenu(payload: message.payload))
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
      return scheduler.requested(
        request.id, by: archive, epoch: request.epoch, entries: range,
        before: range.lowerBound == entries.lowerBound ? before : nil)
    } catch {
      recordFailure(error)
      return .rejected(request.id, .busy, detail: "the ledger cannot be read now")
    }
  }

  // MARK: What is told

  /// Publishes a page at most.
  ///
  /// - Returns: how long there is nothing more to do.
  private func publishNext() async -> Duration {
    if let failedAt {
      let rest = failedAt + Self.retryInterval - now
      guard rest <= .zero else { return rest }
      self.failedAt = nil
    }
    do throws(LedgerError) {
      switch scheduler.next(at: now) {
      case .wait(let duration): return duration ?? Self.pollInterval
      case .publish(let seq, let count):
        let page = try ledger.rows(after: seq, limit: count).map(\.row.entry)
        // One that is committed and cannot be seen yet is seen at the next look.
        guard let last = page.last else { return Self.pollInterval }
        let serial = await publish(page.map(settings.topics.event))
        scheduler.published(through: last.seq, serial: serial)
      case .replay(let replay, let count):
        let page = try ledger.rows(after: replay.next - 1, limit: count).map(\.row.entry)
        guard let last = page.last else { return Self.pollInterval }
        let serial = await publish(page.map(settings.topics.event))
        guard let done = scheduler.replayed(replay, through: last.seq, serial: serial) else {
          break
        }
        await publish([
          Message(
            topic: settings.topics.replayResult(for: done.archive),
            payload: ReplayResult.done(done.id, epoch: done.epoch, done.range).payload)
        ])
      }
      return .zero
    } catch {
      recordFailure(error)
      return Self.retryInterval
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

  private func publishStatus() async {
    guard isOpen, let statusAt, now >= statusAt else { return }
    self.statusAt = nil
    await publish([settings.topics.status(.online)])
  }

  /// The kiosk's own health, but seldom: thousands of kiosks tell it.
  private func publishHealth() async {
    guard isOpen, healthAt.map({ now - $0 >= Self.healthInterval }) ?? true,
      let health = uplinkProgress.health
    else { return }
    healthAt = now
    await publish([settings.topics.retained(settings.topics.health, health)])
  }

  /// Behind what the kiosk sells by, which it tells on each connection.
  private func publishMenuReport() async {
    guard case .subscribed = connection, let report = menus.takeReport() else { return }
    await publish([message(report)])
  }

  private func recordFailure(_ error: LedgerError) {
    failedAt = now
    logger.error("the way up waits, the ledger cannot be read: \(error)")
  }

  private func shutDown() async {
    if isOpen {
      scheduler.recorded(through: uplinkProgress.recorded)
      _ = await publishNext()
      await publish([settings.topics.status(.offline)])
    }
    await broker.disconnect(grace: .milliseconds(400))
  }
}
