import JuiceDomain
package import KioskProtocol

// The machines of a kiosk.
extension KioskState {
  package typealias Job = (machine: MachineID, job: MachineReport.Job)

  /// The reports of all machines, sorted by the name of the machine.
  package var machineReports: [(machine: MachineID, report: MachineReport)] {
    reports.machines.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
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
}
