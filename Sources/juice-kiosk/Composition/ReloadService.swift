import ConfigurationFiles
import KioskController
import KioskCore
import Logging
import Program
import ServiceLifecycle
import UnixSignals

/// On SIGHUP, reads the configuration again and hands it to the running kiosk: the whole of it, or
/// nothing.
struct ReloadService: Service {
  let options: ConfigurationOptions
  /// With which the kiosk was started.
  let configuration: KioskConfiguration
  let controller: Controller
  let manager: ServiceManager?
  let logger: Logger
  /// Trapped since the program's start.
  let hangups: UnixSignalsSequence

  func run() async {
    var running = configuration
    for await _ in hangups.cancelOnGracefulShutdown() {
      manager?.beginReload()
      do throws(Failure) {
        running = try await reload(after: running)
        logger.notice("the new configuration is taken")
      } catch {
        let problems = error.message.split(separator: "\n")
        let more =
          problems.count > 1 ? " (\(problems.count - 1) more: juice-kiosk check tells all)" : ""
        logger.error("the new configuration is not taken: \(problems.first ?? "")\(more)")
      }
      manager?.endReload()
    }
  }

  private func reload(
    after running: KioskConfiguration
  ) async throws(Failure) -> KioskConfiguration {
    let configuration = try options.load()
    let fixed = configuration.changesForRestart(from: running)
    guard fixed.isEmpty else {
      throw .badConfiguration(
        "a change of \(fixed.joined(separator: ", ")) needs a restart; until then nothing of it holds"
      )
    }
    let settings = KioskSettings(
      configuration, retainedTopics: await controller.retainedTopics)
    switch await controller.reload(settings) {
    case .taken: return configuration
    case .refused(let error): throw Failure(error)
    case .stopped: throw .tryAgain("the kiosk is stopping")
    }
  }
}
