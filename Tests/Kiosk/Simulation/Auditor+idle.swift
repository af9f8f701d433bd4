import JuiceDomain
import KioskCore
import KioskProtocol
import Ledger

// What must be true when nothing is on its way.
extension Auditor {
  mutating func checkIdle(_ ledger: KioskLedger, at now: Duration) {
    for number in pending.sorted() where mustCount(sent[number]) {
      fail(.lost, "message \(number) did not count")
    }
    pending = []
    idleAt.append(now)
    if let seq = unanswered.min() { fail(.answer, "entry \(seq) was never answered") }
    if lastEvent != seq { fail(.events, "the last event is \(lastEvent), the last entry \(seq)") }
    guard isDisplayConnected else { return }
    var expected = ["status": "online", "service": model.isOpen ? "open" : "closed"]
    for (fruit, amount) in model.shown { expected["stock/\(fruit)"] = String(amount) }
    for juice in model.variant.recipes.keys {
      expected["juice/\(juice)"] = String(isMade(juice) ? model.servings(of: juice) : 0)
    }
    for (topic, value) in expected.sorted(by: { $0.key < $1.key }) where display[topic] != value {
      fail(.display, "\(topic) shows \(display[topic] ?? "nothing"), and not \(value)")
    }
    checkMachines()
    let report = display["stock"].flatMap { try? StockReport(payload: Array($0.utf8)) }
    let fruits = report?.fruits.map { ($0.fruit.text, $0.amount) } ?? []
    if Dictionary(uniqueKeysWithValues: fruits) != model.shown {
      fail(.display, "stock shows \(display["stock"] ?? "nothing"), and not \(model.shown)")
    }
    // A broker that went back to what it had saved may retain what it was told to clear.
    guard !hasBrokerGoneBack else { return }
    let menu =
      model.variant.fruits.map { "stock/\($0)" } + model.variant.recipes.keys.map { "juice/\($0)" }
      + rules.makers.map { "machine/\($0.name)" }
    for (topic, value) in display.sorted(by: { $0.key < $1.key })
    where topic.contains("/") && !value.isEmpty && !menu.contains(topic) {
      fail(.display, "\(topic) shows \(value), and is not on the menu")
    }
  }

  /// Unless a rule forbids it or makes it one with another. What is told of that may be lost with a
  /// connection, because it is in no ledger.
  private func mustCount(_ message: Sent) -> Bool {
    let sending = message.sending
    if case .junk = sending.content { return false }
    // It stays retained on its way (MQTT 5, Retain As Published), and is refused.
    if sending.isRetained { return false }
    if let id = sending.id, counted[Identity(from: sending.from, id: id)] != nil { return false }
    return !message.isExcused && !isDebounced(message) && !mayBeBeyondRate(sending)
  }

  /// Whether a press of the same button counted a moment before, or was one with another itself: the
  /// window slides.
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
    // Until then, all that was sent had arrived.
    let quiet = idleAt.last { $0 <= start } ?? .zero
    return swallowed.contains { $0.at >= quiet && $0.at <= message.at }
      || entries.values.contains { entry in
        !entry.isEnd && message.isSamePress(as: sent[entry.number])
          && (entry.seenAt > start
            // Over a restart the wall clock measures the window: set back, it may show the same moment
            // again.
            || lastJump.map { $0 >= entry.seenAt } ?? false)
      }
  }

  /// - Parameter fingerprints: how many the ledger remembers.
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
