import JuiceDomain
import KioskCore
import KioskProtocol
import YAMLConfiguration

/// Reads `machines`: the machines that make juices.
///
/// ```yaml
/// machines:
///   - name: bar                 # topics make/bar, made/bar, machine/bar
///     enabled: true             # false: the machine gets no jobs
///     juices: [kiwi, mango]     # default: all; []: none
///     at_once: 1                # maximum number of jobs sent; the kiosk queues the others
///     start_seconds: 15         # time limit for `started`
///     finish_seconds: 120       # time limit for `done` or `failed` after that
///     on_failure: return        # or keep: whether a failed job's fruit returns to the stock
///     programs:                 # default: none
///       clean:                  # also rinse, prime
///         every_hours: 24       # due this time after the program was last done
///         every_glasses: 200    # due after this number of glasses
///         idle_hours: 2         # due this time after the last glass
///         at: closing           # or opening: due at these times of `hours`
///         automatic: true       # false: a person starts it
///         finish_seconds: 600   # time limit for `done` or `failed`
///         uses: {water: 5}      # fruit of the menu
///         grace_minutes: 60     # only clean: the machine closes this time after `clean` is due
/// ```
///
/// A closed machine takes no orders until `clean` is done. A juice that no machine makes is ready
/// when its order is committed or paid. A machine that is removed from the configuration counts as
/// disabled until other machines make its juices. If its juices need no machine, configure the
/// removed machine with `juices: []`.
struct MachineReader {
  private(set) var machines: [KioskSettings.Machine] = []

  private enum Fruit: String, CaseIterable { case `return`, keep }
  private enum Edge: String, CaseIterable { case opening, closing }

  /// Reads the list `machines` of a configuration.
  ///
  /// - Parameter hasHours: Whether the kiosk has opening hours.
  init(_ root: inout Section, menu: Menu, hasHours: Bool) {
    root.list("machines") { section in
      let errorsBefore = section.collector.errors.count
      let name: MachineID? = section.require("name", .identifier())
      var machine = KioskSettings.Machine(name: name ?? "machine")
      section.read("enabled", .boolean, into: &machine.isEnabled)
      machine.juices = section.list("juices", of: .juice(of: menu)).map { Set($0) }
      section.read("at_once", .integer(1...100), into: &machine.atOnce)
      section.read("start_seconds", .seconds(1...3_600), into: &machine.startLimit)
      section.read("finish_seconds", .seconds(1...86_400), into: &machine.finishLimit)
      let fruit: Fruit? = section.read("on_failure", .choice())
      machine.returnsFruit = fruit != .keep
      machine.programs =
        section.optional("programs") { Self.programs(&$0, menu, hasHours) } ?? [:]
      if machines.contains(where: { $0.name == name }) {
        section.report(Diagnostic("there is a machine of this name already"), at: "name")
      }
      guard section.collector.errors.count == errorsBefore else { return }
      machines.append(machine)
    }
  }

  private static func programs(
    _ section: inout Section, _ menu: Menu, _ hasHours: Bool
  ) -> [MachineProgram: KioskSettings.Machine.Program] {
    var programs: [MachineProgram: KioskSettings.Machine.Program] = [:]
    for program in MachineProgram.allCases {
      programs[program] = section.optional(program.rawValue) {
        read(program, &$0, menu, hasHours)
      }
    }
    return programs
  }

  private static func read(
    _ program: MachineProgram, _ section: inout Section, _ menu: Menu, _ hasHours: Bool
  ) -> KioskSettings.Machine.Program {
    var setting = KioskSettings.Machine.Program()
    let hours: Int? = section.read("every_hours", .integer(1...8_760))
    setting.every = hours.map { .seconds($0 * 3_600) }
    setting.everyGlasses = section.read("every_glasses", .integer(1...1_000_000))
    let idle: Int? = section.read("idle_hours", .integer(1...8_760))
    setting.idle = idle.map { .seconds($0 * 3_600) }
    let edge: Edge? = section.read("at", .choice())
    setting.at = edge.flatMap { MachineProgram.Cause(rawValue: $0.rawValue) }
    if edge != nil, !hasHours {
      section.report(
        Diagnostic("the kiosk has no opening hours", hint: "configure 'hours', or omit it"),
        at: "at")
    }
    section.read("automatic", .boolean, into: &setting.isAutomatic)
    section.read("finish_seconds", .seconds(1...86_400), into: &setting.finishLimit)
    if program == .clean {
      let grace: Int? = section.read("grace_minutes", .integer(0...10_080))
      setting.grace = grace.map { .seconds($0 * 60) } ?? setting.grace
    }
    setting.uses = section.section(
      "uses", hasVariables: false, unknown: "there is no such fruit on the menu"
    ) { section in
      FruitAmounts(
        menu.fruits.compactMap { fruit in
          let amount: Int? = section.read(fruit.id.text, .integer(1...1_000_000))
          return amount.map { (fruit: fruit.id, amount: $0) }
        })
    }
    return setting
  }
}
