import ArgumentParser
import JuiceDomain
import KioskProtocol

struct DecideJob: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "job",
    abstract: "Decide about a job with unknown result.",
    discussion: """
      juice-kiosk job 1234 poured: the customer has the juice. again: the machine makes it again. \
      give-back: the fruit returns to the stock. --used kiwi=1 is the fruit that the attempt has \
      used up; without it machines.on_failure decides. Exits 0 only if the decision was applied.
      """)

  enum Decision: String, CaseIterable, ExpressibleByArgument {
    case poured, again
    case giveBack = "give-back"

    var choice: JobDecision.Choice {
      switch self {
      case .poured: .poured
      case .again: .again
      case .giveBack: .giveBack
      }
    }
  }

  @Argument(
    help: "The number of the job: the entry of its order, or of the decision to make it again.")
  var job: Int

  @Argument(help: "poured, again or give-back.")
  var decision: Decision

  @Option(
    help: ArgumentHelp(
      "Fruit that the attempt has used up; may be given several times.",
      valueName: "fruit=N"))
  var used: [FruitNumber] = []

  @OptionGroup var request: RequestOptions

  func run() async throws {
    let used = used.isEmpty ? nil : FruitAmounts(used)
    try await request.send(
      .job(JobDecision(job: job, choice: decision.choice, used: used)), of: .job)
  }
}
