import InMemoryBroker
import MessageBroker
import TestSupport
import Testing

@testable import MosquittoBroker

/// The error of each refusal contains its cause.
@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct RefusalTests {
  typealias Version = MosquittoClient.Configuration.ProtocolVersion
  /// A long keep-alive: the script has no answer to a PINGREQ, which a busy machine may send.
  static let noPings: UInt16 = 3600

  @Test(arguments: [Version.v311, .v5])
  func aWrongPasswordIsARefusedLogin(version: Version) async throws {
    try await withMosquitto {
      $0.users = ["kiosk": "right"]
    } _: { server in
      var configuration = MosquittoClient.Configuration.loopback(server.port, version)
      configuration.username = "kiosk"
      configuration.password = "wrong"
      let reason = try await firstOutage(configuration)
      guard case .loginRefused = reason else {
        Issue.record("\(reason)")
        return
      }
      configuration.password = "right"
      let broker = try MosquittoClient(configuration)
      await broker.connect(SessionOptions(clientID: "kiosk"))
      #expect(await broker.nextEvent(timeout: nil) == .sessionBegan)
      #expect(await broker.nextEvent(timeout: nil) == .online)
    }
  }

  @Test(arguments: [
    (Version.v311, [0x20, 2, 0, 1] as [UInt8]), (.v5, [0x20, 2, 0, 1]),
    (.v5, [0x20, 3, 0, 0x84, 0]),
    // Properties that are longer than the packet.
    (.v5, [0x20, 3, 0, 0, 5]),
  ])
  func anotherProtocolVersionIsNamed(version: Version, answer: [UInt8]) async throws {
    let server = try ScriptedServer([answer])
    let reason = try await firstOutage(.loopback(server.port, version))
    guard case .protocolRefused = reason else {
      Issue.record("\(reason)")
      return
    }
  }

  @Test(arguments: [
    (Version.v311, 3 as UInt8, "unavailable"), (.v5, 0x88, "unavailable"), (.v5, 0x89, "busy"),
    (.v5, 0x85, "identifier"),
  ])
  func otherRefusalsCarryTheReason(version: Version, code: UInt8, text: String) async throws {
    let server = try ScriptedServer([
      version == .v5 ? [0x20, 3, 0, code, 0] : [0x20, 2, 0, code]
    ])
    let reason = try await firstOutage(.loopback(server.port, version))
    guard case .connectionRefused(let detail) = reason else {
      Issue.record("\(reason)")
      return
    }
    #expect(detail.lowercased().contains(text))
  }

  @Test(arguments: [
    (Version.v311, [0x90, 4, 0, 1, 1, 0x80] as [UInt8]), (.v5, [0x90, 5, 0, 1, 0, 1, 0x87]),
  ])
  func aRefusedSubscriptionNamesItsFilter(version: Version, answer: [UInt8]) async throws {
    let server = try ScriptedServer([
      version == .v5 ? [0x20, 3, 0, 0, 0] : [0x20, 2, 0, 0], answer,
    ])
    let broker = try MosquittoClient(.loopback(server.port, version))
    await broker.connect(
      SessionOptions(
        clientID: "kiosk", subscriptions: [try TopicFilter("a"), try TopicFilter("b/#")],
        keepAlive: Self.noPings))
    #expect(try await broker.event() == .sessionBegan)
    #expect(try await broker.event() == .offline(.subscriptionRefused(filter: "b/#")))
    // Reported once, although each attempt fails in the same way.
    for _ in 1...3 {
      let again = await broker.nextEvent(timeout: .milliseconds(300))
      #expect(again == nil || again == .sessionBegan)
    }
  }

  /// The session continues, and later connections use the previous options.
  @Test(arguments: [
    (Version.v311, [0x90, 4, 0, 2, 1, 0x80] as [UInt8]), (.v5, [0x90, 5, 0, 2, 0, 1, 0x87]),
  ])
  func aRefusedUpdateNamesItsFilter(version: Version, answer: [UInt8]) async throws {
    let granted: [UInt8] = version == .v5 ? [0x90, 4, 0, 1, 0, 1] : [0x90, 3, 0, 1, 1]
    let server = try ScriptedServer([
      version == .v5 ? [0x20, 3, 0, 0, 0] : [0x20, 2, 0, 0], granted, answer,
    ])
    let broker = try MosquittoClient(.loopback(server.port, version))
    var options = SessionOptions(
      clientID: "kiosk", subscriptions: [try TopicFilter("a")], keepAlive: Self.noPings)
    await broker.connect(options)
    try await broker.expectOnline()
    options.subscriptions = [try TopicFilter("a"), try TopicFilter("b"), try TopicFilter("c/#")]
    await broker.update(options)
    let answer = try await broker.event()
    #expect(answer == .updated(refusal: .subscriptionRefused(filter: "c/#")))
    #expect(await broker.subscriptions == ["a"])
  }

  /// A PUBACK with a reason code confirms the message; otherwise it would be published again and
  /// again.
  @Test func aRefusedPublishIsToldWithItsTopic() async throws {
    let server = try ScriptedServer([
      [0x20, 3, 0, 0, 0], [0x40, 3, 0, 1, 0x87, 0x40, 2, 0, 2, 0x40, 3, 0, 3, 0x97],
    ])
    let broker = try MosquittoClient(.loopback(server.port))
    await broker.connect(SessionOptions(clientID: "kiosk", keepAlive: Self.noPings))
    try await broker.expectOnline()
    let last = try await broker.publish((1...3).map { Message(topic: "display/\($0)", text: "7") })
    var told: [String: String] = [:]
    while await broker.confirmed < last || told.count < 2 {
      guard case .refused(let topics) = try await broker.event() else { continue }
      told.merge(topics) { $1 }
    }
    #expect(told == ["display/1": "Not authorized", "display/3": "Quota exceeded"])
  }

  @Test(arguments: [(0x8E as UInt8, true), (0x8B, false), (0x95, false)])
  func aDisconnectTellsWhy(code: UInt8, isTakeover: Bool) async throws {
    let server = try ScriptedServer([[0x20, 3, 0, 0, 0, 0xE0, 2, code, 0]])
    let broker = try MosquittoClient(.loopback(server.port))
    await broker.connect(SessionOptions(clientID: "kiosk"))
    try await broker.expectOnline()
    let reason = try await broker.expectOffline()
    #expect((reason == .sessionTakenOver) == isTakeover)
    if !isTakeover, case .connectionLost(let detail) = reason {
      #expect(detail.hasPrefix("the broker ended it: "), "\(detail)")
    }
  }

  @Test func anUnknownHostIsUnreachable() async throws {
    var configuration = MosquittoClient.Configuration.loopback(1)
    configuration.addresses = [BrokerAddress(host: "no-such-host.invalid", port: 1)]
    let reason = try await firstOutage(configuration)
    guard case .unreachable(let detail) = reason else {
      Issue.record("\(reason)")
      return
    }
    #expect(detail.hasPrefix("no-such-host.invalid:1: "))
  }

  private func firstOutage(
    _ configuration: MosquittoClient.Configuration
  ) async throws -> BrokerError {
    let broker = try MosquittoClient(configuration)
    await broker.connect(SessionOptions(clientID: "kiosk"))
    return try await broker.expectOffline()
  }
}

extension MosquittoClient {
  /// Here, because Swift 6.2 traps when another actor reads a member of a noncopyable value.
  fileprivate var subscriptions: [String] { session.options.subscriptions.map(\.text) }
}
