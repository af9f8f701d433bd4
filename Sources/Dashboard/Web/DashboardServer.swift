import HTTPTypes
package import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import JuiceDomain
import KioskMessages
package import Logging
import NIOCore
import NIOSSL
package import ServiceLifecycle
import StateFiles

/// The web pages, over a connection to the kiosks.
package struct DashboardServer: Sendable {
  let settings: DashboardSettings
  let users: UserFile
  let link: KioskLink
  let archive: ChainArchive?
  let sessions = Sessions()
  let door: PasswordDoor
  let rounds: RoundBook
  let now: @Sendable () -> ContinuousClock.Instant

  /// - Parameters:
  ///   - archive: of the chain; `nil`: there is none.
  ///   - cost: what it takes to refuse a name that nobody has: as much as for the others.
  ///   - now: when sessions begin and end, and passwords are tried.
  package init(
    settings: DashboardSettings, users: UserFile, link: KioskLink, archive: ChainArchive? = nil,
    cost: PasswordHash.Cost = .standard,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.settings = settings
    self.users = users
    self.link = link
    self.archive = archive
    door = PasswordDoor(users: users, cost: cost)
    rounds = RoundBook(folder: StateFolder(path: settings.stateFolder))
    self.now = now
  }

  var doorkeeper: Doorkeeper {
    Doorkeeper(
      settings: settings, sessions: sessions, users: users, now: now, hasChain: archive != nil)
  }

  /// What has to run. They are shut down one by one from the last: open pages are let go before
  /// the server waits for their requests to end.
  ///
  /// - Parameter onListening: told the port when browsers can come.
  package func services(
    logger: Logger, onListening: @escaping @Sendable (Int) -> Void = { _ in }
  ) throws -> [any Service] {
    [link, try application(logger: logger, onListening: onListening), link.updates]
  }

  package func application(
    logger: Logger, onListening: @escaping @Sendable (Int) -> Void = { _ in }
  ) throws -> some ApplicationProtocol {
    // Behind a proxy all connections are the proxy's.
    let limit = settings.isBehindProxy ? nil : ConnectionLimit(logger: logger)
    let plain = HTTPServerBuilder.http1(
      configuration: .init(
        additionalChannelHandlers: [
          IdleStateHandler(writeTimeout: RequestDeadline.patience), RequestDeadline(),
        ] + (limit.map { [ConnectionLimit.Handler($0)] } ?? []),
        // For whoever says nothing, or does not come to the end of a head.
        idleTimeout: RequestDeadline.limit,
        httpDecoderConfiguration: .init(
          maxHeaderFieldSize: 8 << 10, maxHeaderListSize: 16 << 10, maxHeaderFieldCount: 64)))
    let server = try settings.tls.map { tls in
      try HTTPServerBuilder.tls(plain, tlsConfiguration: TLSConfiguration(tls))
    }
    return Application(
      router: router(), server: server ?? plain,
      configuration: ApplicationConfiguration(
        address: .hostname(settings.host, port: settings.port), backlog: 1024,
        // One more waits until another has gone. Half of them may be for live updates.
        availableConnectionsDelegate: .maximum(2 * LiveUpdates.maximum, logger: logger)),
      onServerRunning: { onListening($0.localAddress?.port ?? 0) }, logger: logger)
  }

  func router() -> Router<PageContext> {
    let router = Router(context: PageContext.self)
    router.add(middleware: doorkeeper)
    for asset in Asset.all + [.worker] {
      router.get(RouterPath(asset.path)) { _, _ in asset.response }
    }
    addDoor(to: router)
    let inside = router.group().add(middleware: Inside()).add(
      middleware: WithinRegion(archive: archive))
    addFleet(to: inside)
    addKiosk(to: inside.group("kiosks/:kiosk"))
    addPanel(to: inside.group("kiosks/:kiosk"))
    addRounds(to: inside.group("rounds"))
    if let archive { addChain(archive, to: inside.group("chain")) }
    return router
  }
}

/// Only for who is logged in; and only an operator changes anything.
struct Inside: RouterMiddleware {
  func handle(
    _ request: Request, context: PageContext, next: (Request, PageContext) async throws -> Response
  ) async throws -> Response {
    guard context.user != nil else { throw Refusal.loggedOut }
    guard request.method != .post || context.isOperator else { throw Refusal.notAllowed }
    return try await next(request, context)
  }
}

extension TLSConfiguration {
  fileprivate init(_ tls: DashboardSettings.TLS) throws {
    let chain = try NIOSSLCertificate.fromPEMFile(tls.certificateFile)
    self = .makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) },
      privateKey: .privateKey(try NIOSSLPrivateKey(file: tls.keyFile, format: .pem)))
    minimumTLSVersion = .tlsv12
  }
}
