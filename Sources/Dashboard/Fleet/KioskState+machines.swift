package import JuiceDomain
package import KioskProtocol

// What the machines of a kiosk tell.
extension KioskState {
  package typealias Job = (machine: MachineID, job: MachineReport.Job)

  /// Sorted by the name of the machine.
  package var machineReports: [(machine: MachineID, report: MachineReport)] {
    machines.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// The jobs of all machines; those of one machine in the order in which they were accepted.
  package var jobs: [Job] {
    machineReports.flatMap { machine, report in report.jobs.map { (machine, $0) } }
  }

  /// The jobs about which a person has to decide, the oldest first.
  package var undecidedJobs: [Job] {
    jobs.filter(\.job.state.isUndecided).sorted {
      ($0.job.at, $0.job.job) < ($1.job.at, $1.job.job)
    }
  }

  /// Whether a machine does not work, or a job waits for a person.
  package var needsAttention: Bool { machines.values.contains(where: \.needsAttention) }

  /// Whether a machine that makes the juice works, or the juice needs no machine.
  package func isMakeable(_ juice: Juice.ID) -> Bool {
    let makers = machines.values.filter { $0.makes(juice) }
    return makers.isEmpty || makers.contains { !$0.state.isProblem }
  }

  /// The tickets of the juices that are ready, the latest first.
  package var readyTickets: [Int] {
    let told = orders.compactMap { entry -> Int? in
      switch entry.outcome {
      case .ready, .made: entry.ticket?.number
      default: nil
      }
    }
    // Machines also tell of juices that were made before anybody listened here.
    let earlier = machineReports.flatMap(\.report.ready).sorted(by: >)
    var seen: Set<Int> = []
    return (told + earlier).filter { seen.insert($0).inserted }
  }
}
