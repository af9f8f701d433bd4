import ArgumentParser
import JuiceDomain
import KioskProtocol

struct DecideJob: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "job",
    abstract: "Say what became of a juice of which no machine can say it.",
    discussion: """
      juice-kiosk job 1234 poured: the customer has it. again: it is made once more. give-back: the \
      fruit goes back. With --used kiwi=1, so much of the fruit is gone for nothing; without it \
      machines.on_failure decides. Exits 0 only if it was applied.
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

  @Argument(help: "The number of the job: the entry of its order.")
  var job: Int

  @Argument(help: "poured, again or give-back.")
  var decision: Decision

  @Option(
    help: ArgumentHelp(
      "So much of this fruit is gone for nothing; may be given several times.",
      valueName: "fruit=N"))
  var used: [FruitNumber] = []

  @OptionGroup var request: RequestOptions

  func run() async throws {
    let used = used.isEmpty ? nil : FruitAmounts(used)
    try await request.send(
      .job(JobDecision(job: job, choice: decision.choice, used: used)), of: .job)
  }
}
