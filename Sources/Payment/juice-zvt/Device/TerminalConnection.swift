import NIOCore
import NIOPosix

/// The TCP connection to a terminal. Reports events to a closure. Reads the next bytes only after
/// `readMore()`, so that a terminal cannot fill the memory.
final class TerminalConnection: Sendable {
  enum Event: Sendable {
    case connected(TerminalConnection)
    case received([UInt8], TerminalConnection)
    case closed(TerminalConnection)
    case failed(String)
  }

  private let channel: any Channel

  private init(_ channel: any Channel) { self.channel = channel }

  /// Begins to connect and returns immediately. An event reports the outcome.
  static func connect(
    to host: String, port: Int, on group: any EventLoopGroup,
    report: @escaping @Sendable (Event) -> Void
  ) {
    ClientBootstrap(group: group)
      .connectTimeout(.seconds(10))
      .channelOption(.autoRead, value: false)
      .channelOption(.socketOption(.so_keepalive), value: 1)
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let connection = TerminalConnection(channel)
          try channel.pipeline.syncOperations.addHandler(
            TerminalHandler(connection: connection, report: report))
        }
      }
      .connect(host: host, port: port)
      .whenFailure { error in report(.failed("\(error)")) }
  }

  func send(_ bytes: [UInt8]) {
    // A failed write closes the channel, and the handler reports that.
    channel.writeAndFlush(channel.allocator.buffer(bytes: bytes), promise: nil)
  }

  func readMore() { channel.read() }

  func close() { channel.close(promise: nil) }

  func isSame(as other: TerminalConnection) -> Bool { self === other }
}

private final class TerminalHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let connection: TerminalConnection
  private let report: @Sendable (TerminalConnection.Event) -> Void

  init(
    connection: TerminalConnection, report: @escaping @Sendable (TerminalConnection.Event) -> Void
  ) {
    (self.connection, self.report) = (connection, report)
  }

  func channelActive(context: ChannelHandlerContext) {
    report(.connected(connection))
    context.read()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    report(.received(Array(unwrapInboundIn(data).readableBytesView), connection))
  }

  func channelInactive(context: ChannelHandlerContext) { report(.closed(connection)) }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}
