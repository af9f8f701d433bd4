package import JuiceDomain
package import KioskProtocol

// The machines of a kiosk.
extension KioskState {
  package typealias Job = (machine: MachineID, job: MachineReport.Job)

  /// The reports of all machines, sorted by the name of the machine.
  package var machineReports: [(machine: MachineID, report: MachineReport)] {
    machines.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// The jobs of all machines; those of one machine in the order in which they were accepted.
  package var jobs: [Job] {
    machineReports.flatMap { machine, report in report.jobs.map { (machine, $0) } }
  }

  /// The jobs that a person has to decide about, the oldest first.
  package var undecidedJobs: [Job] {
    jobs.filter(\.job.state.isUndecided).sorted {
      ($0.job.at, $0.job.job) < ($1.job.at, $1.job.job)
    }
  }

  /// Whether a machine, a payment device or a sensor needs a person, or expired fruit must be taken
  /// out.
  package var needsAttention: Bool {
    machines.values.contains(where: \.needsAttention) || paymentNeedsAttention
      || sensors.values.contains(where: \.needsAttention) || !expired.isEmpty
  }

  /// Returns whether the kiosk can make the juice: no sensor blocks its fruits, and either it needs
  /// no machine, or one of its machines takes orders and has the fruits.
  package func isMakeable(_ juice: Juice.ID) -> Bool {
    let (makers, blocked) = (machines.values.filter { $0.makes(juice) }, blockedFruits)
    if makers.isEmpty, blocked.isEmpty { return true }
    let recipe = menu?.menu.juice(juice)?.recipe.amounts ?? [:]
    if recipe.contains(where: { blocked.contains($0.fruit) }) { return false }
    return makers.isEmpty
      || makers.contains { maker in
        maker.takesOrders && recipe.allSatisfy { !maker.out.contains($0.fruit) }
      }
  }
}
