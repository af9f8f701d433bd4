import HTTPTypes
import Logging
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

@testable import DashboardWeb

/// Stalled connections. The time of the embedded event loop advances only when a test says so.
@Suite struct ConnectionTests {
  private let head = HTTPRequestPart.head(
    HTTPRequest(method: .post, scheme: nil, authority: nil, path: "/login"))
  private let byte = HTTPRequestPart.body(ByteBuffer(string: "x"))

  private func connect(_ handlers: any ChannelHandler...) throws -> EmbeddedChannel {
    let channel = EmbeddedChannel(handlers: handlers)
    try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 9)).wait()
    return channel
  }

  @Test func aRequestThatDripsIsCut() throws {
    let channel = try connect(RequestDeadline())
    try channel.writeInbound(head)
    for _ in 0..<14 {
      channel.embeddedEventLoop.advanceTime(by: .seconds(1))
      try channel.writeInbound(byte)
    }
    #expect(channel.isActive)
    channel.embeddedEventLoop.advanceTime(by: .seconds(1))
    #expect(!channel.isActive)
  }

  @Test func aRequestThatIsThereMayTakeItsTime() throws {
    let channel = try connect(RequestDeadline())
    for _ in 0..<3 {
      try channel.writeInbound(head)
      channel.embeddedEventLoop.advanceTime(by: .seconds(14))
      try channel.writeInbound(HTTPRequestPart.end(nil))
      channel.embeddedEventLoop.advanceTime(by: .hours(1))
    }
    #expect(channel.isActive)
  }

  /// `IdleStateHandler`, which sends this event, uses the real clock, so the test sends it.
  @Test func whoTakesNoAnswerIsCut() throws {
    let channel = try connect(RequestDeadline())
    channel.pipeline.fireUserInboundEventTriggered(IdleStateHandler.IdleStateEvent.read)
    #expect(channel.isActive)
    channel.pipeline.fireUserInboundEventTriggered(IdleStateHandler.IdleStateEvent.write)
    #expect(!channel.isActive)
  }

  @Test(arguments: [true, false]) func noClientHoldsUpAShutdown(isComplete: Bool) throws {
    let channel = try connect(RequestDeadline())
    try channel.writeInbound(head)
    try channel.writeInbound(isComplete ? HTTPRequestPart.end(nil) : byte)
    channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    channel.embeddedEventLoop.advanceTime(by: .seconds(3))
    #expect(channel.isActive)
    channel.embeddedEventLoop.advanceTime(by: .seconds(1))
    #expect(!channel.isActive)
  }

  @Test func anAddressHasSoManyConnections() throws {
    let limit = ConnectionLimit(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let channels = try (0..<ConnectionLimit.limit).map { _ in
      try connect(ConnectionLimit.Handler(limit))
    }
    #expect(channels.allSatisfy { $0.isActive })
    #expect(try connect(ConnectionLimit.Handler(limit)).isActive == false)
    #expect(limit.open(AddressBlock("192.0.2.2"), at: .now()))
    // A closed connection makes room for another one.
    try channels[7].close().wait()
    channels[7].embeddedEventLoop.run()
    #expect(try connect(ConnectionLimit.Handler(limit)).isActive)
    #expect(try connect(ConnectionLimit.Handler(limit)).isActive == false)
  }
}
