import ArgumentParser
import Foundation
import JuiceMaker
import KioskConfiguration
import KioskController
import KioskMessages
import Logging
import MessageBroker
import ServiceLifecycle

struct Demo: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Try a whole kiosk: a broker, a controller, a panel and a display.",
    discussion: """
      Starts a mosquitto on a free port of this machine and a kiosk with a ledger in a temporary \
      folder, and takes presses from the keyboard, one a line: a juice's id or its number, or \
      restock. Ends with quit or the end of input, and leaves nothing behind.
      """)

  @Flag(help: "Speak Korean.")
  var korean = false

  @OptionGroup var logging: LogOptions

  func run() async throws {
    var logger = try logging.makeLogger()
    if logging.logLevel == nil { logger.logLevel = .warning }
    let server = try DemoBroker()
    defer { server.stop() }
    var configuration = KioskConfiguration()
    configuration.kiosk.language = korean ? .korean : .english
    configuration.broker.port = server.port
    configuration.ledger.path = server.folder.appending(path: "ledger.sqlite").path()
    let controller = try KioskController.build(configuration, logger: logger)

    let kiosk = Task { [configuration] in
      await controller.run(clientID: configuration.broker.clientID)
    }
    let outcome = await Result { [configuration] in
      try await DemoPanel(configuration).run()
    }
    kiosk.cancel()
    await kiosk.value
    try outcome.get()
  }
}

extension Result where Failure == any Error {
  fileprivate init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}

/// The keyboard as a button panel, the screen as its display.
private struct DemoPanel {
  private let configuration: KioskConfiguration
  private var juices: [Juice] { configuration.menu.juices }

  init(_ configuration: KioskConfiguration) { self.configuration = configuration }

  func run() async throws {
    let panel = try await KioskClient(
      configuration, as: Source(kind: .order, name: "demo"), timeout: .seconds(10))
    let operatorsDesk = try await KioskClient(
      configuration, as: Source(kind: .restock, name: "demo"), timeout: .seconds(10))
    StandardOutput.write("A kiosk is running. Press a button: its number or its name, then Enter.")
    for (number, juice) in juices.enumerated() {
      let name = juice.name[configuration.kiosk.language]
      StandardOutput.write(
        "  \(number + 1)  \(juice.id.text.padded(to: 20)) \(name): \(juice.recipe.amounts)")
    }
    StandardOutput.write("  restock fills every fruit up to 100; quit ends.")
    while let line = await Self.readLine() {
      switch line.trimmingCharacters(in: .whitespaces) {
      case "": continue
      case "quit": return await leave([panel, operatorsDesk])
      case "restock":
        let full = FruitAmounts(configuration.menu.fruits.map { (fruit: $0.id, amount: 100) })
        try await show(operatorsDesk, .restock(Restock(set: full)))
      case let press:
        guard let juice = juice(press) else {
          StandardOutput.write("There is no \(press): 1 to \(juices.count), or a juice's id.")
          continue
        }
        try await show(panel, .order(Order(juice: juice)))
      }
    }
    await leave([panel, operatorsDesk])
  }

  private func juice(_ press: String) -> Juice.ID? {
    if let number = Int(press) {
      return juices.indices.contains(number - 1) ? juices[number - 1].id : nil
    }
    return Juice.ID(press)
  }

  private func show(_ client: KioskClient, _ command: Command) async throws {
    let request = Request(id: Request.ID(UUID().uuidString), command: command)
    let result = try await client.send(request, timeout: .seconds(10))
    StandardOutput.write("> " + result.summary)
  }

  private func leave(_ clients: [KioskClient]) async {
    for client in clients { await client.disconnect() }
  }

  /// Waits for the keyboard on a thread of its own: no thread of the pool is held up by a person.
  private static func readLine() async -> String? {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: Swift.readLine()) }
    }
  }
}
