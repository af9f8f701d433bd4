import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Closes a connection if a request does not arrive completely, if the client does not read the
/// response, or if either delays a shutdown.
///
/// The idle timeout of the HTTP server closes a connection that sends nothing, or does not complete
/// a request head, but each byte of a body restarts this timeout. For responses, an
/// `IdleStateHandler` must precede this handler.
final class RequestDeadline: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart

  /// Maximum time between the end of a request head and the end of its body. Live updates are not
  /// affected, since they are part of the response.
  static let limit = TimeAmount.seconds(15)
  /// Maximum time for which a client may read nothing of the response. For live updates the
  /// server writes at least every 15 seconds.
  static let writeTimeout = TimeAmount.minutes(2)

  /// Maximum time for which a connection delays a shutdown. systemd kills the program after 10 seconds.
  static let shutdownLimit = TimeAmount.seconds(4)

  private var deadline: Scheduled<Void>?
  private var shutdown: Scheduled<Void>?

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head:
      deadline?.cancel()
      deadline = context.eventLoop.assumeIsolated().scheduleTask(in: Self.limit) {
        context.close(promise: nil)
      }
    case .body: break
    case .end: deadline?.cancel()
    }
    context.fireChannelRead(data)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case IdleStateHandler.IdleStateEvent.write = event {
      context.close(promise: nil)
    } else {
      if event is ChannelShouldQuiesceEvent {
        shutdown = context.eventLoop.assumeIsolated().scheduleTask(in: Self.shutdownLimit) {
          context.close(promise: nil)
        }
      }
      context.fireUserInboundEventTriggered(event)
    }
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    deadline?.cancel()
    shutdown?.cancel()
  }
}
