package import JuiceDomain
package import KioskMessages

// What the machines of a kiosk tell.
extension KioskState {
  package typealias Job = (machine: MachineID, job: MachineReport.Job)

  /// By name.
  package var machineReports: [(machine: MachineID, report: MachineReport)] {
    machines.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Those of one machine in the order in which they were accepted.
  package var jobs: [Job] {
    machineReports.flatMap { machine, report in report.jobs.map { (machine, $0) } }
  }

  /// Those about which a person has to decide, the oldest first.
  package var undecidedJobs: [Job] {
    jobs.filter(\.job.state.waitsForPerson).sorted {
      ($0.job.at, $0.job.job) < ($1.job.at, $1.job.job)
    }
  }

  /// Whether a machine does not work, or a job waits for a person.
  package var needsSomebody: Bool { machines.values.contains(where: \.needsSomebody) }

  /// Whether a machine is there for the juice, or it needs none.
  package func isMakeable(_ juice: Juice.ID) -> Bool {
    let makers = machines.values.filter { $0.makes(juice) }
    return makers.isEmpty || makers.contains { !$0.state.isProblem }
  }

  /// The tickets of the juices that are there to be taken, the latest first.
  package var readyTickets: [Int] {
    let told = orders.compactMap { entry -> Int? in
      switch entry.outcome {
      case .ready, .made: entry.ticket?.number
      default: nil
      }
    }
    // Machines tell of those, too, that were made before anybody listened here.
    let earlier = machineReports.flatMap(\.report.ready).sorted(by: >)
    var seen: Set<Int> = []
    return (told + earlier).filter { seen.insert($0).inserted }
  }
}
