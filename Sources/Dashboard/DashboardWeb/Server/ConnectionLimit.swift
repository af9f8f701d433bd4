import Logging
import NIOCore
import Synchronization

/// Limits the number of connections from one address.
final class ConnectionLimit: Sendable {
  /// Maximum number of connections per address. A browser opens at most six, but one router may
  /// serve many browsers.
  static let limit = 100

  private struct State {
    var counts: [AddressBlock: Int] = [:]
    var nextLogAt: NIODeadline?
  }

  private let state = Mutex(State())
  private let logger: Logger

  init(logger: Logger) { self.logger = logger }

  /// Counts a new connection.
  ///
  /// - Returns: Whether the connection may stay open. If so, the caller must call `close` at its
  ///   end.
  func open(_ origin: AddressBlock, at now: NIODeadline) -> Bool {
    let (isOpen, isNews) = state.withLock { state in
      let count = state.counts[origin, default: 0]
      guard count >= Self.limit else {
        state.counts[origin] = count + 1
        return (true, false)
      }
      let isNews = state.nextLogAt.map { now >= $0 } ?? true
      if isNews { state.nextLogAt = now + .minutes(1) }
      return (false, isNews)
    }
    if isNews {
      logger.warning("\(origin) has \(Self.limit) connections already: further ones are closed")
    }
    return isOpen
  }

  func close(_ origin: AddressBlock) {
    state.withLock { state in
      guard let count = state.counts[origin] else { return }
      state.counts[origin] = count > 1 ? count - 1 : nil
    }
  }

  /// The handler of one connection.
  final class Handler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any

    private let limit: ConnectionLimit

    init(_ limit: ConnectionLimit) { self.limit = limit }

    func channelActive(context: ChannelHandlerContext) {
      let origin = AddressBlock(context.remoteAddress?.ipAddress ?? "")
      guard limit.open(origin, at: .now()) else { return context.close(promise: nil) }
      context.channel.closeFuture.whenComplete { [limit] _ in limit.close(origin) }
      context.fireChannelActive()
    }
  }
}
