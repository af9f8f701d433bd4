import ArgumentParser
import JuiceDomain
import KioskProtocol

struct DecideSensor: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sensor",
    abstract: "Decide about what a sensor has blocked.",
    discussion: """
      juice-kiosk sensor fridge discard "too warm for two hours": the fruit leaves the stock. \
      release: fruit and machines are used again. The reason is recorded. Exits 0 only if the \
      decision was applied.
      """)

  @Argument(help: "The name of the sensor.")
  var sensor: String

  @Argument(help: "discard or release.")
  var decision: SensorDecision.Choice

  @Argument(help: "The reason, at most \(SensorDecision.maximumWord) characters.")
  var reason: String

  @OptionGroup var request: RequestOptions

  func validate() throws {
    guard reason.contains(where: { !$0.isWhitespace }) else {
      throw ValidationError("Give a reason.")
    }
  }

  func run() async throws {
    guard let sensor = SensorID(sensor) else {
      throw ValidationError("'\(sensor)' is not the name of a sensor.")
    }
    try await request.send(
      .sensor(SensorDecision(sensor: sensor, choice: decision, word: reason)), of: .job)
  }
}

extension SensorDecision.Choice: ExpressibleByArgument {}
