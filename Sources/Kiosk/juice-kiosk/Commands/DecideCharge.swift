import ArgumentParser
import KioskProtocol

struct DecideCharge: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "charge",
    abstract: "Refund a charge, or decide about one with unknown result.",
    discussion: """
      juice-kiosk charge 1795251600 refund: the customer gets the money back, on the same day and \
      once. Of a charge that waits for a person, capture and release ask the device; captured, \
      released and refunded record what you have seen in the journal of the terminal. If nothing \
      can be done there, cash records that you have given the captured amount back in cash, and \
      write_off that nobody pays for the juice. juice-kiosk report --charges lists the numbers. \
      Exits 0 only if the device has done what was requested, or the decision was recorded.
      """)

  @Argument(help: "The number of the charge.")
  var charge: Int

  @Argument(help: "refund, capture, release, captured, released, refunded, cash or write_off.")
  var decision: ChargeDecision.Choice

  @Option(
    help: "The reason, which the ledger records: at most \(SensorDecision.maximumWord) characters.")
  var reason: String?

  @OptionGroup var request: RequestOptions

  func run() async throws {
    try await request.send(
      .charge(ChargeDecision(charge: charge, choice: decision, word: reason)), of: .job)
  }
}

extension ChargeDecision.Choice: ExpressibleByArgument {}
