import JuiceDomain
import KioskCore
import KioskProtocol
import Ledger

// Checks while no message is in flight.
extension Auditor {
  mutating func checkIdle(_ ledger: KioskLedger, at now: Duration, wallClock: Int64) {
    for number in pending.sorted() where mustCount(sent[number]) {
      fail(.lost, "message \(number) did not count")
    }
    pending = []
    idleAt.append(now)
    idleSince = idleSince ?? now
    if let seq = unanswered.min() { fail(.answer, "entry \(seq) was never answered") }
    if lastEvent != seq { fail(.events, "the last event is \(lastEvent), the last entry \(seq)") }
    guard isDisplayConnected else { return }
    var expected = ["status": "online"]
    if let isOpen = isOpen(at: now, wallClock: wallClock) {
      expected["service"] = isOpen ? "open" : "closed"
    }
    for (fruit, amount) in model.shown { expected["stock/\(fruit)"] = String(amount) }
    for juice in model.variant.recipes.keys {
      expected["juice/\(juice)"] = String(isMade(juice) ? model.servings(of: juice) : 0)
    }
    for (topic, value) in expected.sorted(by: { $0.key < $1.key }) where display[topic] != value {
      fail(.display, "\(topic) shows \(display[topic] ?? "nothing"), and not \(value)")
    }
    checkMachines(at: now, wallClock: wallClock)
    checkPaymentReports()
    checkSensor(at: now)
    let report = display["stock"].flatMap { try? StockReport(payload: Array($0.utf8)) }
    let fruits = report?.fruits.map { ($0.fruit.text, $0.amount) } ?? []
    if Dictionary(uniqueKeysWithValues: fruits) != model.shown {
      fail(.display, "stock shows \(display["stock"] ?? "nothing"), and not \(model.shown)")
    }
    if rules.hasDates {
      checkFreshness(report, at: now)
      do { try checkBatches(ledger) } catch { fail(.ledger, "\(error)") }
    }
    // A broker that has restored an earlier save may retain topics that the kiosk has cleared
    // since.
    guard !hasBrokerRestoredSave else { return }
    var menu = model.variant.fruits.map { "stock/\($0)" }
    menu += model.variant.recipes.keys.map { "juice/\($0)" }
    menu += rules.makers.map { "machine/\($0.name)" }
    menu += Terminal.all(rules.terminals).map { "payment/\($0)" }
    if rules.hasSensors { menu.append("sensor/\(SensorModel.name)") }
    if rules.hasDates { menu += ConfigurationVariant.allFruits.map { "freshness/\($0)" } }
    for (topic, value) in display.sorted(by: { $0.key < $1.key })
    where topic.contains("/") && !value.isEmpty && !menu.contains(topic) {
      fail(.display, "\(topic) shows \(value), and is not on the menu")
    }
  }

  /// Returns whether a message must become an entry, which is so unless a rule rejects it or merges
  /// it with another one. The answer in these cases has no ledger entry, and may be lost with a
  /// connection.
  private func mustCount(_ message: Sent) -> Bool {
    let sending = message.sending
    if case .junk = sending.content { return false }
    // The RETAIN flag is preserved (MQTT 5, Retain As Published), and the kiosk rejects the
    // message.
    if sending.isRetained { return false }
    if let id = sending.id, counted[Identity(from: sending.from, id: id)] != nil { return false }
    return !message.isExcused && !isDebounced(message) && !mayBeBeyondRate(sending)
  }

  /// Returns whether a press of the same button counted shortly before, or was itself debounced:
  /// each press extends the window.
  func isDebounced(_ message: Sent) -> Bool {
    guard rules.debounce > 0, message.sending.id == nil, case .order = message.sending.content
    else {
      return false
    }
    var swallowed: [Sent] = []
    for (number, other) in sent.enumerated() where message.isSamePress(as: other) {
      let hasCounted = other.seq.map { entries[$0]?.number == number } ?? false
      if !hasCounted, follows(other, swallowed) { swallowed.append(other) }
    }
    return follows(message, swallowed)
  }

  private func follows(_ message: Sent, _ swallowed: [Sent]) -> Bool {
    let start = message.at - .milliseconds(rules.debounce)
    // All messages sent before this time had been processed by then.
    let quiet = idleAt.last { $0 <= start } ?? .zero
    return swallowed.contains { $0.at >= quiet && $0.at <= message.at }
      || entries.values.contains { entry in
        !entry.isEnd && message.isSamePress(as: sent[entry.number])
          && (entry.seenAt > start
            // After a restart the wall clock measures the window. After it is set back, it may show
            // the same time again.
            || lastJump.map { $0 >= entry.seenAt } ?? false)
      }
  }

  /// Checks the number of stored fingerprints.
  ///
  /// - Parameter fingerprints: number of fingerprints in the ledger.
  mutating func check(fingerprints: Int) {
    if fingerprints > Fingerprint.kept {
      fail(.memory, "the ledger remembers \(fingerprints) deliveries")
    }
  }
}

extension Auditor.Sent {
  fileprivate func isSamePress(as other: Self) -> Bool {
    other.sending.id == nil && other.sending.from == sending.from
      && other.sending.content == sending.content
  }
}
