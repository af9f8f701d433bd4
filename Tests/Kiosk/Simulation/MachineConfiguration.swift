import JuiceDomain
import KioskCore
import KioskProtocol

/// The configuration of a machine, which both the kiosk and the model use.
struct MachineConfiguration: Sendable {
  let name: String
  /// The juices that the machine makes, or `nil` for all.
  var juices: [String]?
  var atOnce = 1
  /// Time limit until the machine reports the start of a job, in seconds.
  var start = 15
  var finish = 60
  var returnsFruit = true
  var programs: [MachineProgram: Program] = [:]

  struct Program: Sendable {
    /// Times in seconds.
    var every, idle, glasses: Int?
    /// Opening or closing, if the kiosk has hours.
    var at: MachineProgram.Cause?
    var grace = 20
    var isAutomatic = true
    var uses: [String: Int] = [:]

    var withoutHours: Self {
      var program = self
      program.at = nil
      return program
    }
  }

  static let all = [
    MachineConfiguration(
      name: "bar", juices: ["banana", "kiwi", "strawberry_banana"],
      programs: [
        .clean: Program(every: 90, glasses: 3, grace: 2, uses: ["mango": 1]),
        .prime: Program(glasses: 2, at: .opening),
      ]),
    MachineConfiguration(
      name: "arm", atOnce: 2, start: 5, finish: 20, returnsFruit: false,
      programs: [
        .clean: Program(glasses: 2, grace: 0, isAutomatic: false), .rinse: Program(idle: 15),
      ]),
    // The other menu has no kiwi.
    MachineConfiguration(
      name: "tap", juices: ["kiwi", "mango_kiwi"], start: 40,
      programs: [.clean: Program(every: 60, at: .closing, grace: 60, uses: ["kiwi": 1])]),
  ]

  func makes(_ juice: String) -> Bool { juices?.contains(juice) ?? true }

  var settings: KioskSettings.Machine {
    var settings = KioskSettings.Machine(
      name: MachineID(name) ?? "machine", atOnce: atOnce, startLimit: .seconds(start),
      finishLimit: .seconds(finish), returnsFruit: returnsFruit)
    settings.juices = juices.map { Set($0.compactMap { Juice.ID($0) }) }
    settings.programs = programs.mapValues { program in
      var settings = KioskSettings.Machine.Program()
      settings.every = program.every.map { .seconds($0) }
      settings.idle = program.idle.map { .seconds($0) }
      settings.everyGlasses = program.glasses
      settings.at = program.at
      settings.grace = .seconds(program.grace)
      settings.finishLimit = .seconds(finish)
      settings.isAutomatic = program.isAutomatic
      settings.uses = FruitAmounts(
        program.uses.compactMap { id, amount in Fruit.ID(id).map { (fruit: $0, amount: amount) } })
      return settings
    }
    return settings
  }
}
