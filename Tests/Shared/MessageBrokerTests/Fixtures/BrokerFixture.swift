import Foundation
import InMemoryBroker
import MessageBroker
import MosquittoBroker
import TestSupport
import Testing

/// One broker of a test's own, with what a test does to it.
///
/// The contract suite sees brokers through this only, so that one set of tests runs against the
/// fake and against the real thing.
protocol BrokerFixture: Sendable {
  /// How long a test listens for an event that must not come; zero where nothing takes time.
  var quietPeriod: Duration { get }

  /// Makes a client that is not connected yet. The test connects it with this client id, and may
  /// ask for several with the same one.
  func client(_ clientID: String) async throws -> any BrokerClient

  /// Ends the client's connection as a failing network does, without a DISCONNECT from either side,
  /// and returns when the broker has noticed. The client may connect again at once.
  func cutConnection(ofClient clientID: String) async throws

  /// Stops the broker; nothing listens on its address until `restart`.
  func stop() async throws

  /// Starts the broker again at the same address, with all that it stored, or with nothing.
  func restart(keepingSessions: Bool) async throws

  /// Refuses every login from the next connection on.
  func refuseLogins() async throws

  /// Advances the clocks of the clients. A broker with a clock of its own does not notice.
  func letPass(_ duration: Duration) async throws

  /// Returns once the broker has dropped the session of a client that is disconnected.
  ///
  /// - Parameter expiry: of the session.
  func letSessionExpire(ofClient clientID: String, _ expiry: Duration) async throws

  /// Returns once the broker has kept what it now holds for longer than `duration`.
  ///
  /// - Returns: how long it took, at most.
  func letMessagesAge(_ duration: Duration) async throws -> Duration

  /// Lets the delay before the next attempt to reconnect pass. Does nothing with a real clock, where
  /// the test waits for the event.
  func letReconnect() async throws

  /// What `client.nextEvent(timeout:)` returns, while time passes by itself or is made to.
  func nextEvent(of client: any BrokerClient, timeout: Duration) async throws -> BrokerEvent?

  /// Ends the broker and removes what it left. Called once, when the test is over.
  func tearDown() async
}

/// What the contract suite runs against.
enum BrokerKind: CaseIterable, Sendable, CustomTestStringConvertible {
  case inMemory
  case mosquittoV311
  case mosquittoV5
  case rabbitMQ
  case ejabberdV311
  case ejabberdV5

  /// `deploy/check` asks for `memory`, which needs no server, and `deploy/test --brokers` for `others`,
  /// which it installs.
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

  /// Whether message expiry, response topics and reasons given by the broker reach a client.
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

/// Runs a test with a broker of its own, and removes it whatever the test's outcome.
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
