import CommandLineSupport
import DashboardWeb
import Logging
import ServiceLifecycle
import UnixSignals
import YAMLConfiguration

/// Applies a new configuration of the certificate and of the notifications to the running dashboard
/// on SIGHUP, completely or not at all. (The file of users is read again after each change.)
struct ReloadService: Service {
  let options: ConfigurationOptions
  let configuration: DashboardConfiguration
  let certificate: ServerCertificate?
  /// SIGHUP signals, trapped since the start of the program.
  let hangups: UnixSignalsSequence
  /// Replaces the running notifier by one with the given section, or only ends it for `nil`.
  let notify: @Sendable (DashboardConfiguration.Notify?) throws -> Void
  let logger: Logger

  func run() async {
    var running = configuration
    for await _ in hangups.cancelOnGracefulShutdown() {
      do {
        running = try reload(after: running)
        logger.notice("the new configuration is taken")
      } catch {
        let problem = "\(error)".split(separator: "\n").first ?? ""
        logger.error("the new configuration is not taken: \(problem)")
      }
    }
  }

  private func reload(after running: DashboardConfiguration) throws -> DashboardConfiguration {
    let new = try options.load()
    var rest = new
    (rest.notify, rest.tls) = (running.notify, running.tls)
    guard rest == running, (new.tls == nil) == (running.tls == nil) else {
      throw Failure.badConfiguration(
        "only 'notify' and the files of 'dashboard.tls' can change without a restart; until then nothing changes"
      )
    }
    // This check precedes all changes, because it detects files that cannot be read.
    if let notify = new.notify { _ = try Notifier.Receiver.all(notify) }
    if let tls = DashboardSettings(new).tls { try certificate?.reload(tls) }
    // The files of passwords may have changed, even if the section is the same.
    try notify(new.notify)
    return new
  }
}

/// Runs a notifier, and replaces it after a reload. The running notifier ends before the next one
/// begins, because both store their state in the same file. The next one gets that state from
/// memory, so a failing disk does not end the notifications.
struct NotificationService: Service {
  /// Makes a notifier, or returns `nil` if notifications are disabled. `state` is the state of the
  /// replaced notifier, or `nil` if none ran.
  typealias Make = @Sendable (_ state: [UInt8]?) async throws -> Notifier?

  let makers: AsyncStream<Make>
  let logger: Logger

  func run() async {
    var notifier: Notifier?
    var running: Task<Void, Never>?
    for await make in makers.cancelOnGracefulShutdown() {
      running?.cancel()
      await running?.value
      do {
        notifier = try await make(notifier?.state)
        running = notifier.map { notifier in Task { await notifier.run() } }
      } catch {
        // `make` throws only if there was no notifier to replace.
        logger.error("no notifications are sent: \(error)")
      }
    }
    running?.cancel()
    await running?.value
  }
}
