import ArgumentParser
import CommandLineSupport
import Foundation
import JuiceDomain
import KioskDaemon
import KioskProtocol
import Logging
import ServiceLifecycle
import YAMLConfiguration

struct Demo: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Try a whole kiosk: a broker, a controller, a panel and a display.",
    discussion: """
      Starts a mosquitto on a free port of this computer and a kiosk with a ledger in a temporary \
      folder, and reads presses from the keyboard, one per line: a juice's id, name or number, or \
      restock. Stops at quit or the end of the input, and deletes its files.
      """)

  @Flag(help: "Use Korean texts.")
  var korean = false

  @OptionGroup var logging: LogOptions

  func run() async throws {
    var logger = try logging.makeLogger("juice-kiosk")
    if logging.logLevel == nil { logger.logLevel = .warning }
    let demonstration = UntilShutdown { [korean, logger] in
      try await demonstrate(in: korean ? .korean : .english, logger: logger)
    }
    try await ServiceGroup.run([demonstration], logger: logger)
  }
}

/// Runs a broker, a kiosk and a panel until `quit` or the end of the input.
private func demonstrate(in language: Language, logger: Logger) async throws {
  try await DemoBroker.run { port, folder in
    var configuration = KioskConfiguration()
    configuration.kiosk.language = language
    configuration.broker.port = port
    configuration.ledgerPath = folder.appending(path: "ledger.sqlite").path()
    let controller = try Controller.build(configuration, logger: logger)
    try await withThrowingTaskGroup { group in
      group.addTask { [configuration] in
        await controller.run(clientID: configuration.broker.clientID)
      }
      // The kiosk disconnects cleanly, whether the panel returns or throws.
      defer { group.cancelAll() }
      try await KioskClient.waitForKiosk(configuration, timeout: DemoPanel.timeout)
      try await DemoPanel(configuration).run()
    }
  }
}

/// A button panel that reads the keyboard and prints the results.
private struct DemoPanel {
  private let configuration: KioskConfiguration
  private var juices: [Juice] { configuration.menu.juices }
  static let timeout = Duration.seconds(10)

  init(_ configuration: KioskConfiguration) { self.configuration = configuration }

  func run() async throws {
    let panel = try await KioskClient(
      configuration, as: Source(kind: .order, name: "demo"), timeout: Self.timeout)
    let operatorClient = try await KioskClient(
      configuration, as: Source(kind: .restock, name: "demo"), timeout: Self.timeout)
    try StandardOutput.write(welcome)
    for await line in StandardInput.lines {
      let press = line.trimmingCharacters(in: .whitespaces)
      if press == "quit" { break }
      if press.isEmpty { continue }
      if press == "restock" {
        let full = configuration.menu.fruits.map { (fruit: $0.id, amount: 100) }
        try await show(operatorClient, .restock(Restock(set: FruitAmounts(full))))
      } else if let juice = juice(press) {
        try await show(panel, .order(Order(juice: juice)))
      } else {
        try StandardOutput.write("There is no \(press): 1 to \(juices.count), or a juice's id.")
      }
    }
    await panel.disconnect()
    await operatorClient.disconnect()
  }

  private var welcome: String {
    let buttons = zip(1..., juices).map { number, juice in
      let name = juice.name[configuration.kiosk.language]
      return "  \(number)  \(juice.id.text.padded(to: 20)) \(name): \(juice.recipe.amounts)"
    }
    return """
      A kiosk is running. To press a button, type its number or its name, then Enter.
      \(buttons.joined(separator: "\n"))
        restock sets every fruit to 100; quit stops.
      """
  }

  private func juice(_ press: String) -> Juice.ID? {
    guard let number = Int(press) else {
      let named = juices.first { juice in
        Language.allCases.contains { juice.name[$0].lowercased() == press.lowercased() }
      }
      return named?.id ?? Juice.ID(press)
    }
    return juices.indices.contains(number - 1) ? juices[number - 1].id : nil
  }

  private func show(_ client: KioskClient, _ command: Command) async throws {
    let request = Request(id: Request.ID(UUID().uuidString), command: command)
    let result = try await client.send(request, timeout: Self.timeout)
    try StandardOutput.write("> " + result.summary)
  }
}
