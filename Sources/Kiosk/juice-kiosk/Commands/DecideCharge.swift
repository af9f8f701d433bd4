import ArgumentParser
import KioskProtocol

struct DecideCharge: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "charge",
    abstract: "Refund a charge, or decide about one with unknown result.",
    discussion: """
      juice-kiosk charge 1795251600 refund: the customer gets the money back, on the same day and \
      once. Of a charge that waits for a person, capture and release ask the device; captured, \
      released and refunded record what you have seen in the journal of the terminal. \
      juice-kiosk report --charges lists the numbers. Exits 0 only if the decision was applied.
      """)

  @Argument(help: "The number of the charge.")
  var charge: Int

  @Argument(help: "refund, capture, release, captured, released or refunded.")
  var decision: ChargeDecision.Choice

  @OptionGroup var request: RequestOptions

  func run() async throws {
    try await request.send(
      .charge(ChargeDecision(charge: charge, choice: decision)), of: .job)
  }
}

extension ChargeDecision.Choice: ExpressibleByArgument {}
