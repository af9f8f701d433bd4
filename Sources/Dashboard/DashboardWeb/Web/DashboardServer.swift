import CommandLineSupport
import HTTPTypes
import Hummingbird
package import HummingbirdCore
import JuiceDomain
import KioskProtocol
package import Logging
import NIOCore
package import ServiceLifecycle

/// The web pages, over a connection to the kiosks.
package struct DashboardServer: Sendable {
  let settings: DashboardSettings
  let users: UserFile
  let link: KioskLink
  let archive: ChainArchive?
  let sessions = Sessions()
  let authenticator: Authenticator
  let routes: RouteStore
  let now: @Sendable () -> ContinuousClock.Instant

  /// - Parameters:
  ///   - archive: of the chain; `nil`: there is none.
  ///   - cost: of refusing a name that no user has; the same as for the names of users.
  ///   - now: the clock of sessions, and of the pauses between attempts to log in.
  package init(
    settings: DashboardSettings, users: UserFile, link: KioskLink, archive: ChainArchive? = nil,
    cost: PasswordHash.Cost = .standard,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.settings = settings
    self.users = users
    self.link = link
    self.archive = archive
    authenticator = Authenticator(users: users, cost: cost)
    routes = RouteStore(folder: StateFolder(path: settings.stateFolder))
    self.now = now
  }

  var sessionMiddleware: SessionMiddleware {
    SessionMiddleware(
      settings: settings, sessions: sessions, users: users, now: now, hasChain: archive != nil)
  }

  /// Everything that has to run. The last one is shut down first: live updates end before the server waits
  /// for its requests to end.
  ///
  /// - Parameters:
  ///   - encrypt: makes the server speak TLS, or leaves it as it is.
  ///   - onListening: called with the port when browsers can come.
  package func services(
    logger: Logger, encrypt: (HTTPServerBuilder) throws -> HTTPServerBuilder,
    onListening: @escaping @Sendable (Int) -> Void
  ) throws -> [any Service] {
    // Behind a proxy all connections are the proxy's.
    let limit = settings.isBehindProxy ? nil : ConnectionLimit(logger: logger)
    let plain = HTTPServerBuilder.http1(
      configuration: .init(
        additionalChannelHandlers: [
          IdleStateHandler(writeTimeout: RequestDeadline.writeTimeout), RequestDeadline(),
        ] + (limit.map { [ConnectionLimit.Handler($0)] } ?? []),
        // Ends a connection that sends nothing, or never comes to the end of a head.
        idleTimeout: RequestDeadline.limit,
        httpDecoderConfiguration: .init(
          maxHeaderFieldSize: 8 << 10, maxHeaderListSize: 16 << 10, maxHeaderFieldCount: 64)))
    let application = Application(
      router: router(), server: try encrypt(plain),
      configuration: ApplicationConfiguration(
        address: .hostname(settings.host, port: settings.port), backlog: 1024,
        // One more connection waits until another has gone. Half of them may be for live updates.
        availableConnectionsDelegate: .maximum(2 * LiveUpdates.maximum, logger: logger)),
      onServerRunning: { onListening($0.localAddress?.port ?? 0) }, logger: logger)
    return [link, application, link.updates]
  }

  func router() -> Router<PageContext> {
    let router = Router(context: PageContext.self)
    router.add(middleware: sessionMiddleware)
    for asset in Asset.all + [.worker] {
      router.get(RouterPath(asset.path)) { _, _ in asset.response }
    }
    addLogin(to: router)
    let authenticated = router.group().add(middleware: RequireLogin()).add(
      middleware: RequireRegion(archive: archive))
    addFleet(to: authenticated)
    addKiosk(to: authenticated.group("kiosks/:kiosk"))
    addPanel(to: authenticated.group("kiosks/:kiosk"))
    addRoutes(to: authenticated.group("routes"))
    if let archive { addChain(archive, to: authenticated.group("chain")) }
    return router
  }
}

/// Lets in users only; and only operators change anything.
struct RequireLogin: RouterMiddleware {
  func handle(
    _ request: Request, context: PageContext, next: (Request, PageContext) async throws -> Response
  ) async throws -> Response {
    guard context.user != nil else { throw RequestError.loggedOut }
    guard request.method != .post || context.isOperator else { throw RequestError.notAllowed }
    return try await next(request, context)
  }
}
