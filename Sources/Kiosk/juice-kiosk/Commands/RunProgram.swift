import ArgumentParser
import JuiceDomain
import KioskProtocol

struct RunProgram: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "program",
    abstract: "Run a program of a machine: clean, rinse or prime.",
    discussion: """
      juice-kiosk program bar clean. While a program runs, the machine makes no juice. Exits 0 if \
      the kiosk has taken the request; juice-kiosk watch shows its end. If the machine does not \
      end it in time, decide with juice-kiosk job NUMBER: poured (it was done), again or give-back.
      """)

  @Argument(help: "The machine's name, as under machines in the configuration.")
  var machine: String

  @Argument(help: "clean, rinse or prime, as configured for the machine.")
  var program: MachineProgram

  @OptionGroup var request: RequestOptions

  func run() async throws {
    guard let machine = MachineID(machine) else {
      throw ValidationError("'\(machine)' is not the name of a machine.")
    }
    try await request.send(.program(ProgramID(machine: machine, program: program)), of: .program)
  }
}

extension MachineProgram: ExpressibleByArgument {}
