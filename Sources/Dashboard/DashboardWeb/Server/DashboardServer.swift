import CommandLineSupport
import HTTPTypes
import Hummingbird
package import HummingbirdCore
import JuiceDomain
import KioskProtocol
package import Logging
import NIOCore
package import ServiceLifecycle

/// The web server of the dashboard: its routes, and the services to run.
///
/// ```swift
/// let server = DashboardServer(settings: settings, users: users, link: link)
/// let services = try server.services(logger: logger, encrypt: { $0 }) { port in
///   print("listening on \(port)")
/// }
/// try await ServiceGroup.run(services, logger: logger)
/// ```
///
/// | path | handlers | pages |
/// |---|---|---|
/// | `/` | `addFleet` | all kiosks |
/// | `/kiosks/:kiosk` | `addKiosk` | one kiosk |
/// | `/kiosks/:kiosk/panel`, `/display` | `addPanel` | its virtual panel and its display |
/// | `/kiosks/:kiosk/settings` | `addSettings` | its settings |
/// | `/kiosks/:kiosk/menu` | `addMenu` | fruits and juices that are added to its menu |
/// | `/routes` | `addRoutes` | routes and their stops |
/// | `/sales` | `addFleetSales` | sales of all kiosks, as far as they have published them |
/// | `/kiosks/:kiosk/sales` | `addSales` | sales in a period, compared with the period before |
/// | `/kiosks/:kiosk/safety` | `addSafety` | the record of food safety of a week |
/// | `/kiosks/:kiosk/charges` | `addCharges` | the charges in its ledger, as a table |
/// | `/kiosks/:kiosk/screens` | `addScreenForm` | the form for the links `/wall/:token` and `/tablet/:token` |
/// | `/history`, `/kiosks/:kiosk/history` | `addHistory` | the history of the last 90 days |
/// | `/chain` | `addChain` | the archive, if there is one; also history, sales and food safety |
/// | `/users` | `addUsers` | the users, for administrators |
/// | `/account` | `addAccount` | the user's own account |
/// | `/account/messages` | `addMessages` | the messages that the user gets by mail |
/// | `/password/:token` | `addPassword` | a new password, with a link |
/// | `/wall/:token`, `/tablet/:token` | `addScreens` | the display and the buttons of one kiosk, without a login |
/// | `/pictures/:picture` | `addPictures` | the owner's own pictures of juices |
/// | `/login`, `/logout`, `/language` | `addLogin` | |
/// | `/health` | `addHealth` | no page: the state for load balancers and monitors |
/// | `/assets`, `/worker.js` | `Asset` | |
///
/// A page with live updates has a second path, which ends in `/live` and sends its changed parts
/// (`LiveUpdates`). The tables of a page have paths that end in `.csv` and `.xlsx` (`addTable`).
package struct DashboardServer: Sendable {
  let settings: DashboardSettings
  let users: UserFile
  let link: KioskLink
  let archive: ChainArchive?
  let sessions: Sessions
  let authenticator: Authenticator
  let routes: RouteStore
  let screens: ScreenLinks
  let pictures: OwnPictures
  let activity: ActivityStore
  let salesReader: SalesReader
  let workbooks = WorkbookWriter()
  let administration: UserAdministration
  package let sent: SentMessages
  package let messages: UserMessages
  let cost: PasswordHash.Cost
  let now: @Sendable () -> ContinuousClock.Instant

  /// Creates a server, which stores its state in the state folder of the settings.
  ///
  /// - Parameters:
  ///   - archive: The archive of the chain, or `nil` if the server has no pages of a chain.
  ///   - cost: The cost of new passwords, and of checking an unknown name.
  ///   - now: The clock for sessions and for the pauses between login attempts.
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
    let folder = StateFolder(path: settings.stateFolder)
    sessions = Sessions(
      in: folder, of: users.current.users, at: now(), time: link.time, logger: link.logger)
    routes = RouteStore(folder: folder)
    screens = ScreenLinks(folder: folder, logger: link.logger)
    pictures = OwnPictures(folder: settings.picturesFolder, logger: link.logger)
    salesReader = SalesReader(link: link)
    administration = UserAdministration(
      users: users, folder: folder, cost: cost, logger: link.logger)
    self.cost = cost
    sent = SentMessages(folder: folder, logger: link.logger)
    messages = UserMessages(
      link: link, users: users, folder: folder, sent: sent, logger: link.logger)
    activity = ActivityStore(link: link, folder: folder, logger: link.logger)
    self.now = now
  }

  var sessionMiddleware: SessionMiddleware {
    SessionMiddleware(
      settings: settings, sessions: sessions, users: users, now: now, hasChain: archive != nil)
  }

  /// Returns the services to run. The last one is shut down first: live updates end before the
  /// server waits for its requests to end.
  ///
  /// - Parameters:
  ///   - encrypt: Adds TLS to the server, or returns it unchanged.
  ///   - onListening: Called with the port when the server accepts connections.
  package func services(
    logger: Logger, encrypt: (HTTPServerBuilder) throws -> HTTPServerBuilder,
    onListening: @escaping @Sendable (Int) -> Void
  ) throws -> [any Service] {
    // Behind a proxy, all connections come from the proxy's address.
    let limit = settings.isBehindProxy ? nil : ConnectionLimit(logger: logger)
    let plain = HTTPServerBuilder.http1(
      configuration: .init(
        additionalChannelHandlers: [
          IdleStateHandler(writeTimeout: RequestDeadline.writeTimeout), RequestDeadline(),
        ] + (limit.map { [ConnectionLimit.Handler($0)] } ?? []),
        // Closes a connection that sends nothing, or does not complete a request head.
        idleTimeout: RequestDeadline.limit,
        httpDecoderConfiguration: .init(
          maxHeaderFieldSize: 8 << 10, maxHeaderListSize: 16 << 10, maxHeaderFieldCount: 64)))
    let application = Application(
      responder: responder(), server: try encrypt(plain),
      configuration: ApplicationConfiguration(
        address: .hostname(settings.host, port: settings.port), backlog: 1024,
        // A further connection waits until another one is closed. At most half of the connections
        // are live updates.
        availableConnectionsDelegate: .maximum(2 * LiveUpdates.maximum, logger: logger)),
      onServerRunning: { onListening($0.localAddress?.port ?? 0) }, logger: logger)
    return [link, activity, messages, application, link.updates]
  }

  func responder() -> some HTTPResponder<PageContext> {
    BasePathResponder(settings: settings, inner: router().buildResponder())
  }

  func router() -> Router<PageContext> {
    let router = Router(context: PageContext.self)
    addHealth(to: router)
    router.add(middleware: sessionMiddleware)
    for asset in Asset.all + [.worker] {
      router.get(RouterPath(asset.path)) { _, _ in asset.response }
    }
    addLogin(to: router)
    let authenticated = router.group().add(middleware: RequireLogin()).add(
      middleware: RequireAccess(server: self))
    addFleet(to: authenticated)
    addKiosk(to: authenticated.group("kiosks/:kiosk"))
    addPanel(to: authenticated.group("kiosks/:kiosk"))
    addSettings(to: authenticated.group("kiosks/:kiosk"))
    addMenu(to: authenticated.group("kiosks/:kiosk"))
    addScreenForm(to: authenticated.group("kiosks/:kiosk"))
    addScreens(to: router)
    addPictures(to: router.group("pictures"))
    addPassword(to: router.group("password/:token"))
    addAccount(
      to: router.group("account").add(middleware: RequireLogin(isForViewers: true)))
    addMessages(
      to: router.group("account/messages").add(middleware: RequireLogin(isForViewers: true)))
    addUsers(to: authenticated.group("users").add(middleware: RequireAdmin()))
    addRoutes(to: authenticated.group("routes"))
    addHistory(to: authenticated)
    addFleetSales(to: authenticated)
    addSales(to: authenticated.group("kiosks/:kiosk"))
    addSafety(to: authenticated.group("kiosks/:kiosk"))
    addCharges(to: authenticated.group("kiosks/:kiosk"))
    if let archive {
      addChain(archive, to: authenticated.group("chain"))
      addHistory(archive, to: authenticated.group("chain"))
      addSales(archive, to: authenticated.group("chain"))
      addSafety(archive, to: authenticated.group("chain/kiosks/:kiosk"))
    }
    return router
  }
}

/// Restricts pages to users, and changes to operators.
struct RequireLogin: RouterMiddleware {
  /// Whether viewers may send forms, too, because the pages are about their own account.
  var isForViewers = false

  func handle(
    _ request: Request, context: PageContext, next: (Request, PageContext) async throws -> Response
  ) async throws -> Response {
    guard context.user != nil else { throw RequestError.loggedOut }
    guard
      request.method != .post || context.isOperator || isForViewers
        || context.user?.role == .driver
    else { throw RequestError.notAllowed }
    return try await next(request, context)
  }
}
