import JuiceDomain
package import KioskProtocol

// Which machine makes an order, and what prevents it.
extension Kiosk {
  /// Returns whether the juice needs a machine, and the machine with the shortest queue that can
  /// take the order. A juice with blocked fruit needs a machine but gets none, so that the kiosk
  /// does not sell it.
  func assignment(of juice: Juice.ID, _ recipe: FruitAmounts) -> (
    isNeeded: Bool, machine: MachineID?
  ) {
    // guard: nothing that is blocked is sold
    if sensors.block(recipe) { return (true, nil) }
    if settings.machines.isEmpty { return (false, nil) }
    let makers = settings.machines.filter { $0.makes(juice) }.map(\.name)
    let best = makers.filter { takesOrders($0) && jobs.has($0, recipe) }.min {
      jobs.count(of: $0) < jobs.count(of: $1)
    }
    return (!makers.isEmpty, best)
  }

  /// Returns whether a machine takes orders: it is available, its cleaning is not overdue, none of
  /// its programs needs a decision, and no sensor blocks it. A blocked machine runs programs.
  private func takesOrders(_ machine: MachineID) -> Bool {
    // guard: a blocked machine gets no orders
    if sensors.block(machine) { return false }
    return jobs.isAvailable(machine) && programs?.closed.contains(machine) != true
      && jobs.program(of: machine)?.state.isUndecided != true
  }

  /// Returns whether a machine that makes the juice is available but takes no orders. Unless a sensor
  /// blocks the machine (see `isBlocked`), the reason is an overdue cleaning or an undecided program.
  func isCleaningDue(for juice: Juice.ID) -> Bool {
    settings.machines.contains {
      $0.makes(juice) && jobs.isAvailable($0.name) && !takesOrders($0.name)
    }
  }

  /// Returns whether a sensor blocks a fruit of a juice, or a machine that makes the juice.
  func isBlocked(_ juice: Juice.ID, _ recipe: FruitAmounts) -> Bool {
    sensors.block(recipe)
      || settings.machines.contains { $0.makes(juice) && sensors.block($0.name) }
  }

  /// Returns whether a sensor blocks the machine or the fruit of an order.
  func isBlocked(_ job: Job) -> Bool {
    sensors.block(job.used) || sensors.block(job.machine)
  }

  /// The published state of each machine.
  package var machineReports: [(machine: MachineID, report: MachineReport)] {
    settings.machines.map { settings in
      let machine = settings.name
      var report = jobs.report(
        of: settings, takesOrders: takesOrders(machine), isBlocked: sensors.block(machine))
      if let programs { report.programs = reports(of: programs, on: machine) }
      return (machine, report)
    }
  }
}
