import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Closes a connection on which a request does not arrive, or an answer is not taken.
///
/// The server's own idle timeout ends a connection that sends nothing, or never comes to the end of a head;
/// but it begins anew with each byte of a body. For answers there has to be an `IdleStateHandler` before
/// this handler.
final class RequestDeadline: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart

  /// From the end of a head to the end of its body. Live updates come later, with the answer.
  static let limit = TimeAmount.seconds(15)
  /// How long a browser may take nothing of its answer. A page with live updates is sent something each
  /// 15 seconds.
  static let writeTimeout = TimeAmount.minutes(2)

  private var deadline: Scheduled<Void>?

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
      context.fireUserInboundEventTriggered(event)
    }
  }

  func handlerRemoved(context: ChannelHandlerContext) { deadline?.cancel() }
}
