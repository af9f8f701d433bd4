import CommandLineSupport
import KioskDaemon
import KioskProtocol
import Logging
import MessageBroker
import ServiceLifecycle

/// A device that is simulated in the terminal: `run()` receives messages of the kiosk and executes
/// the actions for them, and `serve` also reads the lines that a person types.
protocol TerminalDevice: Actor {
  /// The effect of a message, such as a record to store or an answer to publish.
  associatedtype Action: Sendable

  var link: TerminalLink { get set }
  /// The topics of the kiosk's messages to the device.
  var subscriptions: [String] { get }
  /// The line to print and the messages to publish, besides the status, when the connection is
  /// online.
  var opening: (line: String, messages: [Message]) { get }
  func message(_ status: MachineStatus) -> Message
  /// Time until the next call of `tick()`, or `nil` if only a message or a line can change the
  /// state.
  var wait: Duration? { get }

  /// Returns the actions for a message, or `nil` if the message is not a request to the device.
  func receive(_ message: Message) throws(JSONError) -> [Action]?
  /// Executes actions in order.
  func perform(_ actions: [Action]) async throws(Failure)
  /// Ends the work whose time has expired. `run()` calls this after each event and each `wait`.
  func tick() async throws(Failure)
  /// Processes a line that a person has typed.
  func type(_ line: String) async throws(Failure)
  /// Ends the work in progress, before the device disconnects.
  func stop() async
}

/// The connection, the screen and the state of a device.
struct TerminalLink {
  let topics: KioskTopics
  var status = MachineStatus.online
  var screen: PourScreen
  fileprivate let broker: any BrokerClient
  fileprivate let clientID: String
  fileprivate var wasOnline = false

  init(_ configuration: KioskConfiguration, clientID: String, isLive: Bool) throws(Failure) {
    topics = configuration.topics
    screen = PourScreen(isLive: isLive)
    broker = try configuration.makeBroker()
    self.clientID = clientID
  }
}

extension TerminalDevice {
  /// Runs until the task is cancelled, or an error occurs that a new connection cannot solve.
  func run() async throws(Failure) {
    await link.broker.connect(
      SessionOptions(
        clientID: link.clientID, subscriptions: subscriptions.map(TopicFilter.init(unchecked:)),
        will: message(.offline), limits: .commands))
    while !Task.isCancelled, link.screen.failure == nil {
      switch await link.broker.nextEvent(timeout: wait) {
      case .deliveries(let deliveries):
        // The actions store the records of all deliveries before the batch is acknowledged.
        try await perform(deliveries.flatMap { actions(for: $0) })
        await link.broker.acknowledge()
      case .online:
        link.wasOnline = true
        let (line, messages) = opening
        link.screen.print(line)
        await publish([message(link.status)] + messages)
      case .offline(let error):
        guard link.wasOnline || error.isTransient, error != .sessionTakenOver else {
          throw error.failure
        }
        link.screen.print("\(error); retrying")
      case .refused(let topics):
        for (topic, reason) in topics {
          link.screen.print("the broker refuses \(topic): \(reason)")
        }
      case .confirmed, .updated, .sessionBegan, nil: break
      }
      try await tick()
    }
    await stop()
    await publish([message(.offline)])
    await link.broker.disconnect(grace: .seconds(1))
    if let failure = link.screen.failure { throw failure }
  }

  private func actions(for delivery: Delivery) -> [Action] {
    let message = delivery.message
    do throws(JSONError) {
      if let excess = delivery.excess {
        link.screen.print("ignored \(message.topic): the \(excess.rawValue) is too large")
      } else if message.retain {
        link.screen.print("ignored \(message.topic): it is a retained message")
      } else if let actions = try receive(message) {
        return actions
      } else {
        let result = try CommandResult(payload: message.payload)
        link.screen.print("the kiosk answers: \(result.summary)")
      }
    } catch {
      link.screen.print("ignored \(message.topic): \(error)")
    }
    return []
  }

  /// Publishes messages: at once, but during a batch only when `run()` acknowledges the batch.
  func publish(_ messages: [Message]) async {
    do throws(BrokerError) { try await link.broker.publish(messages) } catch {
      link.screen.print("\(error)")
    }
  }

  /// Runs the device until a shutdown; if it reads lines, at most until the end of standard input.
  /// The device disconnects cleanly in both cases.
  ///
  /// - Parameter lost: The consequence of the end of standard input, for the error message; or
  ///   `nil` if the device reads no lines.
  func serve(readingLinesFor lost: String?) async throws {
    let service = UntilShutdown {
      try await withThrowingTaskGroup { group in
        group.addTask { try await self.run() }
        if let lost {
          group.addTask {
            for await line in StandardInput.lines { try await self.type(line) }
            guard !Task.isCancelled else { return }
            throw Failure.unavailable("standard input has ended, so that \(lost)")
          }
        }
        defer { group.cancelAll() }
        try await group.next()
      }
    }
    let logger = Logger(label: "juice-kiosk") { _ in SwiftLogNoOpLogHandler() }
    try await ServiceGroup.run([service], logger: logger)
  }
}
