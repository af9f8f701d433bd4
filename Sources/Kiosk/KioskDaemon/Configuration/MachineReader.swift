import JuiceDomain
import KioskCore
import KioskProtocol
import YAMLConfiguration

/// Reads `machines`, which make the juices.
///
/// ```yaml
/// machines:
///   - name: bar                 # topics make/bar, made/bar, machine/bar
///     juices: [kiwi, mango]     # left out: all
///     at_once: 1                # jobs that it takes at a time; the others wait in the kiosk
///     start_seconds: 15         # within which it says `started`
///     finish_seconds: 120       # and then `done` or `failed`
///     on_failure: return        # or keep: is the fruit of a failed job still there?
/// ```
///
/// A juice that no machine makes is ready when its order is committed.
struct MachineReader {
  private(set) var machines: [KioskSettings.Machine] = []

  private enum Fruit: String, CaseIterable { case `return`, keep }

  init(_ root: inout Section, menu: Menu) {
    root.list("machines") { section in
      let errorsBefore = section.collector.errors.count
      let name: MachineID? = section.require("name", .identifier())
      var machine = KioskSettings.Machine(name: name ?? "machine")
      machine.juices = section.list("juices", of: .juice(of: menu)).map { Set($0) }
      if machine.juices == [], section.collector.errors.count == errorsBefore {
        section.report(
          Diagnostic("names no juice", hint: "leave it out for all that are on the menu"),
          at: "juices")
      }
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
