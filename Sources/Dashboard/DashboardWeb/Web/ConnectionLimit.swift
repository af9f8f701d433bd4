import Logging
import NIOCore
import Synchronization

/// Keeps one address from taking all the connections.
final class ConnectionLimit: Sendable {
  /// For each address. A browser opens six at most, but many may come from behind one router.
  static let limit = 100

  private struct State {
    var counts: [AddressBlock: Int] = [:]
    var nextLogAt: NIODeadline?
  }

  private let state = Mutex(State())
  private let logger: Logger

  init(logger: Logger) { self.logger = logger }

  /// - Returns: whether one more may be open; `close` takes it back.
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
      logger.warning("\(origin) has \(Self.limit) connections already: what is more is closed")
    }
    return isOpen
  }

  func close(_ origin: AddressBlock) {
    state.withLock { state in
      guard let count = state.counts[origin] else { return }
      state.counts[origin] = count > 1 ? count - 1 : nil
    }
  }

  /// One for each connection.
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
