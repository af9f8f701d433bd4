import ArgumentParser
import CommandLineSupport
import DashboardWeb
import Fleet
import Foundation
import KioskProtocol
import Logging
import ServiceLifecycle
import TimeZones
import UnixSignals
import YAMLConfiguration

struct Run: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Serve the dashboard.",
    discussion: """
      Runs until SIGTERM or SIGINT. While the broker is not reachable, the dashboard tries again, and \
      the pages show the last known state with a warning. On SIGHUP it reads the certificate and the \
      section 'notify' again; if there is an error or another section has changed, it logs the \
      reason and keeps the old ones.
      """)

  @OptionGroup var options: ConfigurationOptions
  @OptionGroup var logging: LogOptions

  func run() async throws {
    let hangups = await UnixSignalsSequence(trapping: .sighup)
    let configuration = try options.load()
    let logger = try logging.makeLogger("juice-dashboard")
    if let warning = options.serviceLinksWarning { logger.warning("\(warning)") }
    let settings = DashboardSettings(configuration)
    let users = UserFile(path: configuration.usersFile, logger: logger)
    // A damaged file is logged by `current`: the screens on the walls need no users.
    let known = users.current
    if known.users.isEmpty, known.problem == nil {
      logger.warning(
        "no user can log in, because \(users.path) has none; run: juice-dashboard user add")
    }
    let isLocal = ["127.0.0.1", "::1", "localhost"].contains(settings.host)
    if !isLocal, settings.tls == nil, !settings.isBehindProxy {
      logger.warning(
        "passwords are sent to \(settings.host) unencrypted: set dashboard.tls, or use a proxy with TLS"
      )
    }
    // Reads the files of passwords, URLs and tokens before the program opens a connection, so that
    // an unreadable file ends the program here.
    if let notify = configuration.notify { _ = try Notifier.Receiver.all(notify) }
    let archive = try configuration.archive.map { try ChainArchive(ChainSettings($0)) }
    Self.allowManyConnections()
    let link = KioskLink(
      broker: try configuration.broker.makeBroker(), root: configuration.root,
      now: { .now }, logger: logger)
    let dashboard = DashboardServer(settings: settings, users: users, link: link, archive: archive)
    // Hides the HTTP server's log messages below `warning`: they are about single connections.
    var quiet = logger
    quiet.logLevel = max(logger.logLevel, .warning)
    let address = settings.address
    let manager = NotifySocket()
    var services: [any Service]
    let certificate: ServerCertificate?
    do {
      certificate = try settings.tls.map { try ServerCertificate($0) }
      services = try dashboard.services(
        logger: quiet, encrypt: { try certificate?.encrypt($0) ?? $0 },
        onListening: { _ in
          logger.notice("juice-dashboard: open \(address) in a browser")
          manager?.send("READY=1\nSTATUS=Pages at \(address)")
        })
    } catch let failure as Failure {
      throw failure
    } catch {
      throw Failure.badConfiguration("the certificate or its key cannot be used: \(error)")
    }
    let (makers, next) = AsyncStream.makeStream(of: NotificationService.Make.self)
    let folder = StateFolder(path: configuration.stateFolder)
    @Sendable func maker(
      _ notify: DashboardConfiguration.Notify?
    ) throws -> NotificationService.Make {
      guard let notify else {
        return { _ in
          await dashboard.messages.use(nil)
          return nil
        }
      }
      let receivers = try Notifier.Receiver.all(notify)
      let byMail = try Notifier.Receiver.byMail(notify)
      let rules = AlertEvaluator.Rules(
        offlineDelay: .seconds(60 * notify.offlineMinutes),
        quietPeriod: .seconds(notify.quietSeconds))
      return { state in
        await dashboard.messages.use(
          byMail.map {
            UserMessages.Setup(baseURL: notify.link, rules: rules, receiver: $0)
          })
        return Notifier(
          link: link, formatter: NotificationFormatter(notify.language, baseURL: notify.link),
          receivers: receivers, rules: rules, folder: folder, sent: dashboard.sent, state: state,
          logger: logger)
      }
    }
    // The first notifier is made here, so that an error ends the program.
    let notifier = try await maker(configuration.notify)(nil)
    next.yield { _ in notifier }
    services += [
      NotificationService(makers: makers, logger: logger),
      ReloadService(
        options: options, configuration: configuration, certificate: certificate, hangups: hangups,
        notify: { notify in next.yield(try maker(notify)) }, logger: logger),
    ]
    do {
      try await ServiceGroup.run(services, logger: logger)
    } catch {
      throw Failure.unavailable("\(address) cannot be served: \(error)")
    }
  }

  /// Sets the limit of open files, usually 1,024, to the maximum that the system allows, but at
  /// most to 65,536, because each open page is a connection.
  private static func allowManyConnections() {
    #if canImport(Glibc)
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
    let resource = RLIMIT_NOFILE
    #endif
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return }
    limit.rlim_cur = min(limit.rlim_max, 65_536)
    setrlimit(resource, &limit)
  }
}

extension ChainSettings {
  init(
    _ archive: DashboardConfiguration.Archive
  ) throws(ConfigurationErrors) {
    self.init(
      database: archive.database, password: try archive.readPassword(),
      timeZone: archive.timeZone.name, timeout: .seconds(archive.timeoutSeconds))
  }
}

extension DashboardSettings {
  init(_ configuration: DashboardConfiguration) {
    self.init(
      host: configuration.host, port: configuration.port,
      tls: configuration.tls.map { tls in
        TLS(certificateFile: tls.certificateFile, keyFile: tls.keyFile)
      }, isBehindProxy: configuration.isBehindProxy, basePath: configuration.basePath,
      stateFolder: configuration.stateFolder, picturesFolder: configuration.picturesFolder)
    brokerLines = Self.lines(of: configuration.broker, root: configuration.root)
  }

  private static func lines(of broker: BrokerConfiguration, root: String) -> [String] {
    (root == "kiosk" ? [] : ["kiosk:", "  root: \(root)"])
      + ["broker:", "  host: \(broker.host)", "  port: \(broker.port)"]
      + (broker.tls == nil ? [] : ["  tls: {}"])
  }

  fileprivate var address: String {
    let host = host.contains(":") ? "[\(host)]" : host
    return "\(tls == nil ? "http" : "https")://\(host):\(port)/"
  }
}
