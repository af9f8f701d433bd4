import ArgumentParser
import Ledger
import Program

extension LedgerCommands {
  struct Archive: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Move old entries into a compressed file.",
      discussion: """
        What they add up to is carried on in the ledger, so that verify still proves the stock, and \
        verify --archive proves it from the first entry on. The last 10,000 entries stay, because \
        their ids are known, and so does what the broker has not confirmed. Stop the kiosk first.
        """)

    struct Age: ExpressibleByArgument {
      let days: Int

      init?(argument: String) {
        guard argument.hasSuffix("d"), let days = Int(argument.dropLast()) else { return nil }
        self.days = days
      }
    }

    @OptionGroup var options: Options
    @Option(
      help: ArgumentHelp(
        """
        How old, counted back from the last entry: 90d, say. At least \(Ledger.leastDaysKept)d, \
        because sales are told of a month.
        """,
        valueName: "days"))
    var olderThan: Age
    @Argument(help: "Where the files are.", completion: .directory) var directory: String

    func validate() throws {
      guard olderThan.days >= Ledger.leastDaysKept else {
        throw ValidationError("--older-than is \(Ledger.leastDaysKept)d at least.")
      }
    }

    func run() async throws {
      let path = try options.file()
      do throws(LedgerError) {
        let ledger = try Ledger(path: path)
        if let moved = try ledger.archive(olderThan: olderThan.days, in: directory) {
          StandardOutput.write("Archived the entries \(moved.first) to \(moved.last).")
        } else {
          StandardOutput.write("Nothing is old enough: all entries stay.")
        }
      } catch {
        throw Failure(error)
      }
    }
  }
}
