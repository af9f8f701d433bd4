import Foundation
import InMemoryBroker
import MessageBroker
import MosquittoBroker
import TestSupport
import Testing

/// A broker for one test, with the operations that tests perform on it.
///
/// The contract suite accesses brokers only through this protocol, so the same tests run with the
/// in-memory broker and with real ones.
protocol BrokerFixture: Sendable {
  /// The time for which a test waits to verify that no event arrives; zero if transmission is
  /// instantaneous.
  var quietPeriod: Duration { get }

  /// Creates a client that is not connected. The test connects it with this client id, and may
  /// create several with the same one.
  func client(_ clientID: String) async throws -> any BrokerClient

  /// Breaks the client's connection as a failing network does, without a DISCONNECT from either
  /// side, and returns when the broker has noticed. The client may reconnect immediately.
  func cutConnection(ofClient clientID: String) async throws

  /// Stops the broker; no server listens on its address until `restart`.
  func stop() async throws

  /// Restarts the broker at the same address, with its stored state or without.
  func restart(keepingSessions: Bool) async throws

  /// Refuses all logins from the next connection on.
  func refuseLogins() async throws

  /// Advances the clocks of the clients, then permits connections again if the broker runs. A real
  /// broker's clock is unaffected.
  func letPass(_ duration: Duration) async throws

  /// Returns once the broker has deleted the session of a disconnected client.
  ///
  /// - Parameter expiry: The expiry interval of the session.
  func letSessionExpire(ofClient clientID: String, _ expiry: Duration) async throws

  /// Returns once the broker has stored its current messages for longer than `duration`.
  ///
  /// - Returns: The maximum time that this took.
  func letMessagesAge(_ duration: Duration) async throws -> Duration

  /// Prevents new connections until `letReconnect` or `letPass`. Does nothing with a clock of the fixture, where
  /// only these methods let the delay before an attempt to connect pass.
  func refuseConnections() async

  /// Lets the delay before the next attempt to connect pass. With a real clock, only permits
  /// connections again after `cutConnection` or `refuseConnections`: the test waits for the event.
  func letReconnect() async throws

  /// Returns the result of `client.nextEvent(timeout:)`, with the fixture's clock running.
  func nextEvent(of client: any BrokerClient, timeout: Duration) async throws -> BrokerEvent?

  /// Stops the broker and deletes its files. Called once, at the end of the test.
  func tearDown() async
}

/// The brokers that the contract suite runs with.
enum BrokerKind: CaseIterable, Sendable, CustomTestStringConvertible {
  case inMemory
  case mosquittoV311
  case mosquittoV5
  case rabbitMQ
  case ejabberdV311
  case ejabberdV5

  /// The brokers of this run: `deploy/check` selects `memory`, which needs no server, and
  /// `deploy/test --brokers` selects `others`, which it installs.
  static let allCases: [BrokerKind] =
    switch ProcessInfo.processInfo.environment["KIOSK_BROKERS"] {
    case "memory": [.inMemory]
    case "others": [.rabbitMQ, .ejabberdV311, .ejabberdV5]
    default: [.inMemory, .mosquittoV311, .mosquittoV5]
    }

  var testDescription: String {
    switch self {
    case .inMemory: "in memory"
    case .mosquittoV311: "mosquitto, MQTT 3.1.1"
    case .mosquittoV5: "mosquitto, MQTT 5"
    case .rabbitMQ: "RabbitMQ, MQTT 3.1.1"
    case .ejabberdV311: "ejabberd, MQTT 3.1.1"
    case .ejabberdV5: "ejabberd, MQTT 5"
    }
  }

  /// Whether the client receives message expiry, response topics and reasons of the broker.
  var speaksVersion5: Bool {
    switch self {
    case .inMemory, .mosquittoV5, .ejabberdV5: true
    case .mosquittoV311, .rabbitMQ, .ejabberdV311: false
    }
  }

  func fixture() async throws -> any BrokerFixture {
    switch self {
    case .inMemory:
      InMemoryFixture(
        broker: MemoryBroker(reconnectDelays: .milliseconds(20) ... .milliseconds(200)))
    case .mosquittoV311: try ServerFixture(Mosquitto(), .v311)
    case .mosquittoV5: try ServerFixture(Mosquitto(), .v5)
    case .rabbitMQ: try ServerFixture(OtherBroker(.rabbitMQ), .v311)
    case .ejabberdV311: try ServerFixture(OtherBroker(.ejabberd), .v311)
    case .ejabberdV5: try ServerFixture(OtherBroker(.ejabberd), .v5)
    }
  }
}

/// Runs a test with its own broker, and removes the broker whatever the outcome.
func withBroker(
  _ kind: BrokerKind, _ test: (any BrokerFixture) async throws -> Void
) async throws {
  let fixture = try await kind.fixture()
  do {
    try await test(fixture)
  } catch {
    await fixture.tearDown()
    throw error
  }
  await fixture.tearDown()
}
