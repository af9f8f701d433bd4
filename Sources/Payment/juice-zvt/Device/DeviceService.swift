import ArgumentParser
import CommandLineSupport
import KioskProtocol
import Logging
import MessageBroker
import NIOCore
import NIOPosix
import TimeZones
import YAMLConfiguration
import ZVT

/// Connects a `PaymentDevice` with its journal, its terminal and its broker.
///
/// If the journal cannot be written, the service discards the device and its pending actions. It
/// creates a new device from the journal as soon as the disk accepts writes, as after a power cut.
actor DeviceService {
  private enum Input: Sendable {
    case broker(BrokerEvent)
    case terminal(TerminalConnection.Event)
    case timer
    case reopen
    case reconnect
  }

  /// The connection to the terminal. Many terminals accept only one, so there is at most one attempt
  /// at a time, and one timer for the next.
  private enum Terminal {
    case disconnected
    case waiting(Scheduled<Void>)
    case connecting
    case connected(TerminalConnection, since: Duration)
  }

  /// The device, and the file with its journal.
  private struct Work {
    var device: PaymentDevice
    let file: JournalFile

    mutating func process(
      _ event: (inout PaymentDevice, Duration) -> [PaymentDevice.Action], at now: Duration
    ) -> [PaymentDevice.Action] {
      device.wallClock = .now
      return event(&device, now)
    }
  }

  private let configuration: ZVTConfiguration
  private var lock: FileLock?
  private let broker: any BrokerClient
  private let logger: Logger
  private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  private let inputs: AsyncStream<Input>
  private let input: AsyncStream<Input>.Continuation
  private let start = ContinuousClock.now

  private var work: Work?
  private var terminal = Terminal.disconnected
  private var isOnline = false
  /// Whether the program has been connected to the broker at least once.
  private var wasOnline = false
  private var fault: String?
  private var timer: (at: Duration, task: Scheduled<Void>)?
  private var attempts = 0
  private var nextEndOfDay: Timestamp?
  private var messages: [Message] = []
  private var repeatedAnswers = LineLimit()
  private var refusedMessages = LineLimit()
  private var unreadableMessages = LineLimit()

  init(_ configuration: ZVTConfiguration, _ logger: Logger) throws(Failure) {
    self.configuration = configuration
    self.logger = logger
    broker = try configuration.broker.makeBroker()
    (inputs, input) = AsyncStream.makeStream()
  }

  private var now: Duration { ContinuousClock.now - start }
  private var topics: KioskTopics { configuration.topics }

  /// Runs until the task is cancelled.
  ///
  /// - Throws: `Failure` if a retry cannot help, such as a damaged journal, or a login refused at the start.
  func run() async throws {
    let topics =
      [self.topics.charge(by: configuration.name)] + ownTopics
      + ChargeRequest.Action.allCases.map { self.topics.charge($0, by: configuration.name) }
    // Locks the journal first: the connection of a second program would end that of the first.
    try open()
    await broker.connect(
      SessionOptions(
        clientID: configuration.broker.clientID,
        subscriptions: topics.map(TopicFilter.init(unchecked:)), will: message(.offline),
        limits: .commands))
    let (handled, handle) = AsyncStream<Void>.makeStream()
    let reader = Task { [broker, input] in
      // Reads one event at a time: the next one after `process` has returned.
      var turns = handled.makeAsyncIterator()
      while let event = await broker.nextEvent(timeout: nil) {
        input.yield(.broker(event))
        await turns.next()
      }
    }
    defer { reader.cancel() }
    connect()
    for await next in inputs {
      try await process(next)
      if case .broker = next { handle.yield() }
    }
    await shutDown()
  }

  private func process(_ input: Input) async throws(Failure) {
    do throws(Failure) {
      switch input {
      case .broker(let event): try receive(event)
      case .terminal(let event): try receive(event)
      case .timer:
        timer = nil
        try run { $0.tick(at: $1) }
        try endDayIfDue()
      case .reopen:
        try open()
        connect()
      case .reconnect: connect()
      }
    } catch {
      try discard(error)
    }
    if case .broker = input { await publish() } else if !messages.isEmpty { await publish() }
    setTimer()
  }

  // MARK: The journal

  private func open() throws(Failure) {
    guard work == nil else { return }
    do throws(Failure) {
      let path = configuration.journal
      if lock == nil { lock = try Failure.from { () throws(StateError) in try FileLock(of: path) } }
      try lock?.take(orFail: JournalFile.inUse(path))
      let file = try Failure.from { () throws(StateError) in try JournalFile(path: path) }
      if file.isNew { logger.notice("began the journal \(file.path)") }
      nextEndOfDay = endOfDay(after: file.journal.total?.at ?? file.begun)
      work = Work(device: PaymentDevice(configuration.device, file.journal), file: file)
      if fault != nil { logger.notice("the journal can be written again") }
      fault = nil
      if isOnline { try run { device, _ in device.brokerConnected() } }
    } catch {
      try discard(error)
    }
  }

  /// Discards the device after a failure of the journal, and schedules the next attempt to open the journal.
  ///
  /// - Throws: The failure if another attempt cannot help.
  private func discard(_ failure: Failure) throws(Failure) {
    // A full or read-only disk (74) may recover; after the first connect to the broker, so may a file that cannot be
    // opened (78). A damaged or locked journal does not.
    let isPassing = failure.status.rawValue == 74 || wasOnline && failure.status.rawValue == 78
    guard isPassing else { throw failure }
    if fault == nil { logger.error("no charges: \(failure.message)") }
    fault = "journal cannot be written"
    work = nil
    messages = isOnline ? [message(status)] : []
    disconnect()
    _ = schedule(.reopen, in: .seconds(5))
  }

  // MARK: The device

  /// Passes an event to the device, and executes the returned actions. Shortens a long journal if the device is idle.
  private func run(
    _ event: (inout PaymentDevice, Duration) -> [PaymentDevice.Action]
  ) throws(Failure) {
    let actions = work?.process(event, at: now) ?? []
    let isRepeat = !actions.contains { if case .store = $0 { true } else { false } }
    for action in actions { try perform(action, isRepeat: isRepeat) }
    if work?.file.isLong ?? false, work?.device.isIdle ?? false {
      work = nil
      disconnect()
      try open()
      connect()
    }
  }

  /// - Parameter isRepeat: Whether the answers are those of an earlier event, so that senders can cause
  ///   them at will.
  private func perform(_ action: PaymentDevice.Action, isRepeat: Bool) throws(Failure) {
    switch action {
    case .store(let entry):
      try Failure.from { () throws(StateError) in try work?.file.write(entry) }
    case .send(let bytes): connection?.send(bytes)
    case .publish(let answer):
      if let more = isRepeat ? repeatedAnswers.admit(at: now) : "" {
        logger.info("\(answer.summary)\(more)")
      }
      messages.append(Message(topic: topics.paid(by: configuration.name), payload: answer.payload))
    case .status(let status):
      logger.notice("\(status.text)")
      messages.append(message(status))
    case .inventory(let epoch):
      messages.append(
        Message(
          topic: topics.paid(by: configuration.name),
          payload: PaymentAnswer.inventory(epoch: epoch)))
    case .total(let total):
      logger.notice("last end of day: \(total.total), \(total.at)")
      messages.append(message(total))
      nextEndOfDay = endOfDay(after: total.at)
    case .disconnect(let reason):
      logger.warning("\(reason)")
      connection?.close()
    case .log(let text): logger.warning("\(text)")
    }
  }

  private var status: MachineStatus {
    if let fault { return .fault(fault) }
    return work?.device.status ?? .fault("terminal away")
  }

  // MARK: The broker

  private func receive(_ event: BrokerEvent) throws(Failure) {
    switch event {
    case .deliveries(let deliveries):
      for delivery in deliveries {
        if ownTopics.contains(delivery.message.topic) {
          // What the broker has retained is older than this connection.
          if !delivery.message.retain { publishAgain(delivery.message) }
          continue
        }
        guard let command = command(in: delivery) else { continue }
        try run { $0.receive(command, at: $1) }
      }
    case .online:
      (isOnline, wasOnline) = (true, true)
      logger.notice("connected to the broker")
      if work == nil {
        messages.append(message(status))
      } else {
        try run { device, _ in device.brokerConnected() }
      }
    case .offline(let error):
      isOnline = false
      messages = []
      guard wasOnline || error.isTransient, error != .sessionTakenOver else { throw error.failure }
      logger.warning("\(error); retrying")
    case .refused(let topics):
      for (topic, reason) in topics { logger.error("the broker refuses \(topic): \(reason)") }
    case .confirmed, .updated, .sessionBegan: break
    }
  }

  /// The retained topics of this device, to which it subscribes itself.
  private var ownTopics: [String] {
    [topics.paymentStatus(of: configuration.name), topics.paymentTotal(of: configuration.name)]
  }

  /// Publishes a retained message again if another client has cleared or replaced it. The will of an earlier
  /// connection may replace it, too.
  private func publishAgain(_ received: Message) {
    let total = work?.device.journal.total.map(message)
    for own in [message(status), total].compactMap(\.self)
    where own.topic == received.topic && own.payload != received.payload {
      messages.append(own)
    }
  }

  private func message(_ total: PaymentTotal) -> Message {
    Message(
      topic: topics.paymentTotal(of: configuration.name), payload: total.payload, retain: true)
  }

  private func command(in delivery: Delivery) -> ChargeCommand? {
    let message = delivery.message
    guard delivery.excess == nil, !message.retain else {
      if let more = refusedMessages.admit(at: now) {
        logger.warning(
          "ignored a message that is retained or too large on \(message.topic)\(more)")
      }
      return nil
    }
    let action = ChargeRequest.Action.allCases.first {
      topics.charge($0, by: configuration.name) == message.topic
    }
    do throws(JSONError) { return try ChargeCommand(action, payload: message.payload) } catch {
      if let more = unreadableMessages.admit(at: now) {
        logger.warning("ignored \(message.topic): \(error)\(more)")
      }
      return nil
    }
  }

  private func message(_ status: MachineStatus) -> Message {
    Message(
      topic: topics.paymentStatus(of: configuration.name), text: status.text, retain: true)
  }

  private func publish() async {
    let outgoing = messages
    messages = []
    do throws(BrokerError) {
      if !outgoing.isEmpty { try await broker.publish(outgoing) }
    } catch {
      logger.error("\(error)")
    }
    await broker.acknowledge()
  }

  // MARK: The terminal

  private var connection: TerminalConnection? {
    if case .connected(let connection, _) = terminal { connection } else { nil }
  }

  private func connect() {
    guard work != nil else { return }
    switch terminal {
    case .connecting, .connected: return
    case .waiting(let timer): timer.cancel()
    case .disconnected: break
    }
    terminal = .connecting
    TerminalConnection.connect(
      to: configuration.host, port: configuration.port, on: group
    ) { [input] event in input.yield(.terminal(event)) }
  }

  private func reconnect(in time: TimeAmount) {
    terminal = work == nil ? .disconnected : .waiting(schedule(.reconnect, in: time))
  }

  /// Closes the connection. An attempt to connect continues, and `receive` handles its result.
  private func disconnect() {
    switch terminal {
    case .connecting: return
    case .connected(let connection, _): connection.close()
    case .waiting(let timer): timer.cancel()
    case .disconnected: break
    }
    terminal = .disconnected
  }

  private func receive(_ event: TerminalConnection.Event) throws(Failure) {
    switch event {
    case .connected(let new):
      guard work != nil else {
        terminal = .disconnected
        return new.close()
      }
      terminal = .connected(new, since: now)
      logger.notice("connected to the terminal")
      try run { $0.connected(at: $1) }
    case .received(let bytes, let from):
      guard let connection, connection.isSame(as: from) else { return }
      try run { $0.received(bytes, at: $1) }
      connection.readMore()
    case .closed(let old):
      guard case .connected(let connection, let since) = terminal, connection.isSame(as: old)
      else { return }
      terminal = .disconnected
      let isShort = now - since < .seconds(10)
      attempts = isShort ? attempts + 1 : 0
      let hint = attempts > 2 ? ": does another program use this terminal?" : ""
      logger.warning("the connection to the terminal was lost\(hint)")
      // If the terminal was ready, reconnects soon, to request the result of the lost command.
      let wasReady = work?.device.status == .online
      try run { $0.disconnected(at: $1) }
      reconnect(in: wasReady ? .seconds(1) : backoff)
    case .failed(let reason):
      attempts += 1
      if attempts == 1 { logger.warning("the terminal cannot be reached: \(reason)") }
      reconnect(in: backoff)
    }
  }

  /// The time until the next attempt to connect: 1 to 16 seconds.
  private var backoff: TimeAmount { .seconds(1 << Int64(min(attempts, 4))) }

  // MARK: Timers

  private func schedule(_ next: Input, in time: TimeAmount) -> Scheduled<Void> {
    group.next().scheduleTask(in: time) { [input] in _ = input.yield(next) }
  }

  private func setTimer() {
    let endOfDay = nextEndOfDay.map { now + max(.zero, $0.since(.now)) }
    // Checks the end of day every minute, because a person may set the clock.
    let times = [work?.device.deadline, endOfDay.map { min($0, now + .seconds(60)) }]
    guard let next = times.compactMap(\.self).min() else {
      timer?.task.cancel()
      timer = nil
      return
    }
    guard timer?.at != next else { return }
    timer?.task.cancel()
    let (seconds, attoseconds) = max(.zero, next - now).components
    let amount = TimeAmount.nanoseconds(
      min(seconds, 86_400) * 1_000_000_000 + attoseconds / 1_000_000_000 + 1)
    let task = group.next().scheduleTask(in: amount) { [input] in _ = input.yield(.timer) }
    timer = (next, task)
  }

  // MARK: The end of day

  /// Returns the first configured end of day after a time, or `nil` if none is configured. A time
  /// in the future counts as now, because the clock was set back.
  private func endOfDay(after last: Timestamp) -> Timestamp? {
    guard let time = configuration.endOfDay, let clock = configuration.timeZone else { return nil }
    WallClock.refresh()
    let last = min(last, .now)
    let today = clock.day(at: last)
    let times = [today, today + 1].map { day in
      let minutes = Int64((day * 24 + time.hour) * 60 + time.minute)
      return clock.time(showing: Timestamp(milliseconds: minutes * 60_000))
    }
    return times.first { $0 > last }
  }

  private func endDayIfDue() throws(Failure) {
    guard let due = nextEndOfDay, due <= .now, work != nil else { return }
    // The total of this end of day sets the next one.
    nextEndOfDay = nil
    try run { $0.endDay(at: $1) }
  }

  private func shutDown() async {
    timer?.task.cancel()
    connection?.close()
    messages = [message(.offline)]
    await publish()
    await broker.disconnect(grace: .seconds(1))
    try? await group.shutdownGracefully()
  }
}

extension PaymentAnswer {
  /// The answer as one line for the log.
  fileprivate var summary: String {
    "charge \(charge): \(status.name)" + (status.money.map { " \($0)" } ?? "")
      + (reason.map { ", \($0)" } ?? "")
  }
}
