import JuiceDomain
import KioskCore
import KioskProtocol
import YAMLConfiguration

/// Reads `machines`: the machines that make juices.
///
/// ```yaml
/// machines:
///   - name: bar                 # topics make/bar, made/bar, machine/bar
///     enabled: true             # false: it gets no jobs
///     juices: [kiwi, mango]     # default: all; []: none
///     at_once: 1                # maximum number of jobs sent; the kiosk queues the others
///     start_seconds: 15         # time limit for `started`
///     finish_seconds: 120       # time limit for `done` or `failed` after that
///     on_failure: return        # or keep: whether a failed job's fruit returns to the stock
/// ```
///
/// A juice that no machine makes is ready when its order is committed. A machine that leaves the
/// configuration counts as disabled, until its juices have another machine or `juices: []` says that
/// they need none.
struct MachineReader {
  private(set) var machines: [KioskSettings.Machine] = []

  private enum Fruit: String, CaseIterable { case `return`, keep }

  init(_ root: inout Section, menu: Menu) {
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
      if machines.contains(where: { $0.name == name }) {
        section.report(Diagnostic("there is a machine of this name already"), at: "name")
      }
      guard section.collector.errors.count == errorsBefore else { return }
      machines.append(machine)
    }
  }
}
