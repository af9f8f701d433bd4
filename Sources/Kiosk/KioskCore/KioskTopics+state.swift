import JuiceDomain
package import KioskProtocol
package import MessageBroker

// The retained topics that show the kiosk's state.
extension KioskTopics {
  /// Returns all retained messages of the state.
  package func state(of core: borrowing Kiosk, at now: Timestamp) -> [Message] {
    var messages = [retained(menu, core.settings.menuReport.payload), service(core.service)]
    if let report = core.settings.settingsReport {
      messages.append(retained(settings, report.payload))
    }
    for (fruit, quantity) in core.juiceMaker.stock {
      messages.append(stock(of: fruit, quantity))
      messages.append(alert(for: fruit, core.alert(of: fruit)))
    }
    let expiries = core.batches.nextExpiries
    for fruit in core.datedFruits.sorted() {
      messages.append(freshness(of: fruit, expiries[fruit]))
    }
    for (juice, count) in core.servings {
      messages.append(servings(of: juice, count))
    }
    for (machine, report) in core.machineReports {
      messages.append(retained(self.report(of: machine), report.payload))
    }
    messages += payments(of: core)
    for (sensor, report) in core.sensors.reports {
      messages.append(retained(self.sensor(sensor), report.payload))
    }
    messages.append(report(core, at: now))
    return messages
  }

  /// Returns the retained messages about payment devices.
  package func payments(of core: borrowing Kiosk) -> [Message] {
    core.charges.reports.map { retained(payment(at: $0.device), $0.report.payload) }
  }

  /// Returns the retained messages that differ between two states with the same settings.
  package func changes(
    from before: borrowing Kiosk, to after: borrowing Kiosk, at now: Timestamp
  ) -> [Message] {
    var messages: [Message] = []
    if after.service != before.service { messages.append(service(after.service)) }
    if !after.settings.machines.isEmpty {
      for (old, new) in zip(before.machineReports, after.machineReports)
      where old.report != new.report {
        messages.append(retained(report(of: new.machine), new.report.payload))
      }
    }
    if after.settings.payment != nil {
      for (old, new) in zip(before.charges.reports, after.charges.reports)
      where old.report != new.report {
        messages.append(retained(payment(at: new.device), new.report.payload))
      }
    }
    if !after.sensors.isEmpty {
      var old = Dictionary(before.sensors.reports, uniquingKeysWith: { first, _ in first })
      for (sensor, report) in after.sensors.reports {
        if old.removeValue(forKey: sensor) == report { continue }
        messages.append(retained(self.sensor(sensor), report.payload))
      }
      // Clears the topics of removed sensors that no longer block anything.
      for sensor in old.keys.sorted() { messages.append(retained(self.sensor(sensor), [])) }
    }
    let stockBefore = before.juiceMaker.stock
    let changed = after.juiceMaker.stock.filter { stockBefore[$0.fruit] != $0.amount }
    var areBatchesChanged = false
    if before.batches.isActive || after.batches.isActive {
      let (old, new) = (before.batches.nextExpiries, after.batches.nextExpiries)
      for fruit in before.datedFruits.union(after.datedFruits).sorted()
      where old[fruit] != new[fruit] {
        messages.append(freshness(of: fruit, new[fruit]))
        areBatchesChanged = true
      }
    }
    if before.batches.expired != after.batches.expired { areBatchesChanged = true }
    if areBatchesChanged, changed.isEmpty { messages.append(report(after, at: now)) }
    guard !changed.isEmpty || !after.settings.machines.isEmpty || !after.sensors.isEmpty
    else { return messages }
    for (fruit, quantity) in changed {
      messages.append(stock(of: fruit, quantity))
      let alert = after.alert(of: fruit)
      if alert != before.alert(of: fruit) {
        messages.append(self.alert(for: fruit, alert))
      }
    }
    for (old, new) in zip(before.servings, after.servings)
    where old.count != new.count {
      messages.append(servings(of: new.juice, new.count))
    }
    if !changed.isEmpty { messages.append(report(after, at: now)) }
    return messages
  }

  private func service(_ state: ServiceState) -> Message {
    Message(topic: service, text: state.rawValue, retain: true)
  }

  private func stock(of fruit: Fruit.ID, _ quantity: Int) -> Message {
    Message(topic: stock(of: fruit), text: String(quantity), retain: true)
  }

  private func freshness(of fruit: Fruit.ID, _ expires: Timestamp?) -> Message {
    Message(topic: freshness(of: fruit), text: expires?.description ?? "none", retain: true)
  }

  private func alert(for fruit: Fruit.ID, _ alert: StockAlert) -> Message {
    Message(topic: self.alert(for: fruit), text: alert.rawValue, retain: true)
  }

  private func servings(of juice: Juice.ID, _ count: Int) -> Message {
    Message(topic: servings(of: juice), text: String(count), retain: true)
  }

  private func report(_ core: borrowing Kiosk, at now: Timestamp) -> Message {
    let report = StockReport(
      seq: core.seq, at: now, fruits: core.juiceMaker.stock, expires: core.batches.nextExpiries,
      expired: core.batches.expiredAmounts)
    return retained(stock, report.payload)
  }

  package func retained(_ topic: String, _ payload: [UInt8]) -> Message {
    Message(topic: topic, payload: payload, retain: true)
  }
}

extension KioskTopics {
  package func status(_ status: KioskStatus) -> Message {
    Message(topic: self.status, text: status.rawValue, retain: true)
  }

  /// Returns the message for an event as the ledger stores it.
  package func event(_ payload: [UInt8]) -> Message { Message(topic: events, payload: payload) }
}
