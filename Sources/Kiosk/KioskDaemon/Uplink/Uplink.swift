import JuiceDomain
package import KioskCore
import KioskProtocol
package import Ledger
package import Logging
package import MessageBroker

/// Publishes the ledger's entries to the upstream broker of a chain, and answers requests of its
/// archives.
///
/// | topic | direction | when |
/// |---|---|---|
/// | events | up | each entry after the last confirmed one, at most `pace` per second |
/// | status | up | on each connection, and once more 30 seconds later |
/// | health | up | every 4 minutes |
/// | reported menu | up | on each connection after subscribing, and with each new report |
/// | replay request | down | answered with a `ReplayResult` and the requested events |
/// | desired menu | down | stored in the `MenuMailbox` |
///
/// The kiosk does not depend on the uplink, which reads the ledger with its own connection and runs
/// on the executor of its own broker client. During an outage of any length, entries stay in the
/// ledger and are published afterwards. `UplinkScheduler` decides which entries are published when.
package actor Uplink {
  /// State of the upstream connection.
  private enum ConnectionState {
    case closed(since: Duration)
    /// Publishes entries; subscribes at the uptime `until`.
    case publishing(until: Duration)
    case subscribing
    /// Subscribed, or the broker has refused the subscriptions.
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
  /// The client identifier, a new one for each connection. RabbitMQ (3.10) deletes the queues of a
  /// failed node by their names, when it detects the failure and when the node is back. It also
  /// deletes queues of these names that clients have declared on another node meanwhile: their
  /// connections stay open but receive nothing.
  private var clientID: String
  /// Lower bound of the maximum delay before subscribing. Grows with each connection that ends before
  /// the state `subscribed`; zero after a connection that has reached this state.
  private var subscribeDelay = Duration.zero
  /// The time at which the uplink publishes `online` again, or `nil` if it need not publish that again.
  private var statusAt: Duration?
  private var scheduler: UplinkScheduler
  /// Limits the rate of requests, because a request takes several queries of the ledger.
  /// `menuBucket` limits the rate of menus, which have to be parsed. With separate buckets,
  /// requests and menus do not displace each other. The uplink drops and counts excess messages;
  /// their senders repeat them.
  private var requestBucket = TokenBucket(
    perSecond: Uplink.requestsPerSecond, burst: Uplink.requestsPerSecond)
  private var menuBucket = TokenBucket(
    perSecond: Uplink.requestsPerSecond, burst: Uplink.requestsPerSecond)
  /// The last value read from `broker.confirmed`. The uplink applies it when a later event shows
  /// that the broker has refused no message up to this number; see `Session.takeEvent`.
  private var confirmed: UInt64 = 0
  private var refusedMenus = LineLimit()
  private var healthAt: Duration?
  private var failedAt: Duration?
  private var failures = LineLimit()

  /// Maximum number of requests, and of menus, that the uplink handles per second.
  private static let requestsPerSecond = 20
  /// Interval between two checks for new entries: short enough for a low delay, long enough for a
  /// low load.
  private static let pollInterval = Duration.milliseconds(250)
  private static let healthInterval = Duration.seconds(240)
  /// Pause after the uplink could not read the ledger.
  private static let retryInterval = Duration.seconds(10)
  /// Maximum delay before subscribing, after a connection that had subscribed.
  private static let maximumUnsubscribedTime = Duration.seconds(60)
  /// Maximum delay before subscribing, after repeated connections that had not subscribed.
  private static let maximumSubscribeDelay = Duration.seconds(600)
  /// Maximum time until the broker publishes the will of a dead connection: 1.5 times the
  /// keep-alive (MQTT 5, 3.1.2.10) and a margin. By then the kiosk may be connected again and would
  /// appear as offline, so it publishes `online` again.
  private static let maximumWillDelay = Duration.seconds(30)

  /// Creates an uplink without a connection, and reads from the ledger which entries are confirmed.
  ///
  /// - Parameters:
  ///   - ledger: A ledger that was opened with `readOnly`.
  ///   - uplinkProgress: The object shared with the controller that writes the ledger.
  ///   - menus: The mailbox for desired menus.
  ///   - random: Returns a random number from 0 to 1. Called for each random choice.
  /// - Throws: `LedgerError` if the ledger cannot be read.
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

  /// Runs until the task is cancelled. Then publishes `offline` and disconnects, within half a
  /// second.
  package func run() async {
    await broker.connect(options)
    var wait = Duration.zero
    while !Task.isCancelled {
      let event = await broker.nextEvent(timeout: min(wait, Self.pollInterval))
      await handle(event)
      // The next turn applies a new confirmation, see `confirmed`.
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

  /// The options of a session that the broker does not store: senders repeat a request until they
  /// receive the answer.
  private var options: SessionOptions {
    var limits = MessageLimits.commands
    limits.payload = DesiredMenu.maximumSize
    // Makes the broker also deliver a menu above the payload limit. The uplink reports that it is too large.
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

  /// The time at which a kiosk that has just connected subscribes, chosen at random. A subscription
  /// costs a broker four times as much as a connection, and senders repeat their messages. So if a
  /// thousand kiosks reconnect at once, all of them publish before most of them subscribe.
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

  // MARK: Received events

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
      let count = scheduler.last - scheduler.cursor
      logger.notice("the uplink is connected: \(count) entries to publish")
    case .offline(let error):
      if isOpen {
        // A subscription adds load to a broker that may be overloaded: double the delay.
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
      logger.warning("the uplink is disconnected: \(error)")
    case .refused(let topics):
      for (topic, reason) in topics.sorted(by: { $0.key < $1.key }) {
        logger.warning("\(BrokerError.publishRefused(topic: topic, reason: reason))")
      }
      if topics[settings.topics.events] != nil { scheduler.refused(at: now) }
    case .deliveries(let deliveries):
      var answers: [Message] = []
      for delivery in deliveries {
        let isMenu = delivery.message.topic == settings.topics.desiredMenu
        guard isMenu ? menuBucket.take(at: now) : requestBucket.take(at: now) else {
          uplinkProgress.droppedRequest()
          continue
        }
        if let answer = answer(delivery) { answers.append(answer) }
      }
      await publish(answers)
      await broker.acknowledge()
    case .updated(let refusal):
      guard case .subscribing = connection else { break }
      if let refusal {
        // Any other error has ended the connection: `offline` follows.
        guard case .subscriptionRefused = refusal else { break }
        logger.warning("the uplink receives no menus or requests: \(refusal)")
      }
      connection = .subscribed
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

  /// Stores a desired menu in the mailbox.
  ///
  /// - Returns: The report to publish at once, or `nil` if there is none.
  private func handleMenu(_ delivery: Delivery) -> DesiredMenuReport? {
    let message = delivery.message
    if let excess = delivery.excess {
      let limit = "\(DesiredMenu.maximumSize) bytes are read"
      return .refused(version: nil, detail: "the \(excess.rawValue) is too large: \(limit)")
    }
    // A retained message may be outdated.
    if message.retain {
      logger.warning("a retained message on \(message.topic) is ignored")
      return nil
    }
    do throws(JSONError) {
      let menu = try DesiredMenu(payload: message.payload)
      guard let refusal = menus.post(menu) else { return nil }
      if let more = refusedMenus.admit(at: now) {
        logger.warning("menu \(menu.version) of the chain is refused: a newer one is known\(more)")
      }
      return refusal
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
    // A retained message may be outdated.
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

  // MARK: Published messages

  /// Publishes at most one page of new or requested entries.
  ///
  /// - Returns: The time until the next call is useful.
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
        let page = try ledger.events(after: seq, limit: count)
        // A committed entry may not be visible yet: the next check reads it.
        guard let last = page.last else { return Self.pollInterval }
        let serial = await publish(page.map { settings.topics.event($0.event) })
        scheduler.published(through: last.seq, serial: serial)
      case .replay(let replay, let count):
        let page = try ledger.events(after: replay.next - 1, limit: count)
        guard let last = page.last else { return Self.pollInterval }
        let serial = await publish(page.map { settings.topics.event($0.event) })
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
      // The client has published the valid messages. A retry would only block later messages.
      logger.error("\(error)")
      // Returns the serial number of the last message. An empty list contains no invalid message.
      return (try? await broker.publish([])) ?? 0
    }
  }

  private func publishStatus() async {
    guard isOpen, let statusAt, now >= statusAt else { return }
    self.statusAt = nil
    await publish([settings.topics.status(.online)])
  }

  /// Publishes the kiosk's health only every 4 minutes, because thousands of kiosks may share the
  /// broker. The position in `health` is the last confirmed entry, which the archive must have received.
  private func publishHealth() async {
    guard isOpen, healthAt.map({ now - $0 >= Self.healthInterval }) ?? true,
      var health = uplinkProgress.health
    else { return }
    healthAt = now
    // Without a position the archive does not detect the loss of the last entries. The uplink logs
    // the error when it reads the next entries.
    health.position = try? ledger.position(of: scheduler.cursor)
    await publish([settings.topics.retained(settings.topics.health, health.payload)])
  }

  /// Publishes a new menu report. `handle` publishes the first report of each connection, when the
  /// broker has answered the subscriptions.
  private func publishMenuReport() async {
    guard case .subscribed = connection, let report = menus.takeReport() else { return }
    await publish([message(report)])
  }

  private func recordFailure(_ error: LedgerError) {
    failedAt = now
    if let more = failures.admit(at: now) {
      logger.error("the uplink waits, because the ledger cannot be read: \(error)\(more)")
    }
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
