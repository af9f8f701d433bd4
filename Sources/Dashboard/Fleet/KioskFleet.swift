package import JuiceDomain
package import KioskProtocol

/// The state of every kiosk below a root topic, built from the retained topics and events of the
/// kiosks.
///
/// ```swift
/// var fleet = KioskFleet(root: "kiosk")
/// fleet.receive(
///   topic: "kiosk/station/status", payload: Array("online".utf8), isRetained: true, at: .now)
/// fleet[kiosk]?.isOnline  // true
/// fleet.survey(at: .now).byUrgency(matching: "strawberry")  // Kiosks to visit, the most urgent first
/// fleet.survey(at: .now).count.offline  // 0
/// ```
///
/// It is a value without a clock and without a broker: it depends only on the messages that are
/// passed to it.
package struct KioskFleet: Sendable {
  /// Maximum number of kiosks. Messages of further kiosks are ignored.
  package static let maximumKiosks = 10_000
  /// Maximum length of a payload, in bytes. Longer messages are ignored.
  package static let maximumPayload = 1 << 18

  private let root: [UInt8]
  private var states: [KioskID: Shared] = [:]
  /// The latest menu. Most kiosks of a fleet have the same one, which is decoded and stored once.
  private var menu: (payload: [UInt8], report: MenuReport)?
  /// The topics that a kiosk may have cleared since the last loss of the connection: no message has
  /// arrived on them since then.
  private var unconfirmed: Set<String> = []
  /// The time of the last retained message since the last loss of the connection, or `nil`.
  private var lastRetained: Timestamp?
  /// Time without retained messages after which the fleet assumes that all of them have arrived.
  private static let settleTime = Duration.seconds(10)

  /// Creates a fleet without kiosks.
  ///
  /// - Parameter root: One or more topic levels without wildcards.
  package init(root: String) {
    self.root = Array(root.utf8) + [UInt8(ascii: "/")]
  }

  /// The state of a kiosk. The copies of a fleet share it: a page uses a copy while messages change
  /// one kiosk after the other.
  private final class Shared: Sendable {
    let state: KioskState

    init(_ state: KioskState) { self.state = state }

    /// Calls a closure with the state. If the call were inlined, the compiler would copy the state,
    /// because it would not see that this object outlives the call.
    @inline(never)
    func visit(_ body: (KioskState) -> Void) { body(state) }
  }

  /// The kiosks with a status, in no particular order. If the status of a kiosk was cleared, its
  /// other retained messages may still arrive.
  package var kiosks: some Collection<KioskState> {
    states.values.lazy.filter { $0.state.reports.status != nil }.map(\.state)
  }

  /// Calls a closure with each of the `kiosks`. Unlike a loop over them it copies no state, which takes
  /// longer than most of what is done with one.
  package func forEachKiosk(_ body: (KioskState) -> Void) {
    for kiosk in states.values where kiosk.state.reports.status != nil { kiosk.visit(body) }
  }

  package subscript(kiosk: KioskID) -> KioskState? { states[kiosk]?.state }

  /// Returns the fleet with only the kiosks that satisfy a condition.
  package func limited(where isIncluded: (KioskState) -> Bool) -> Self {
    var fleet = self
    fleet.states = states.filter { isIncluded($0.value.state) }
    return fleet
  }

  /// The regions that kiosks publish, sorted.
  package var regions: [String] { Set(kiosks.compactMap(\.region)).sorted() }

  /// Returns the topic filters of all messages that a fleet reads.
  package static func filters(root: String) -> [String] {
    [
      "status", "service", "stock", "alert/+", "machine/+", "payment/+", "sensor/+", "menu", "info",
      "health",
      "sales", "sales/days", "forecast", "history", "events", "settings",
    ]
    .map { "\(root)/+/\($0)" }
  }

  /// Reads a message.
  ///
  /// - Parameter isRetained: Whether the broker had stored the message, so that its age is unknown.
  /// - Returns: The kiosk of the message, or `nil` if the message was ignored, or is an event that
  ///   changes no list.
  @discardableResult
  package mutating func receive(
    topic: String, payload: [UInt8], isRetained: Bool, at now: Timestamp
  ) -> KioskID? {
    guard payload.count <= Self.maximumPayload, topic.utf8.starts(with: root) else { return nil }
    confirm(topic, isRetained: isRetained, at: now)
    let levels = topic.utf8.dropFirst(root.count)
      .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      .map { String(Substring($0)) }
    guard levels.count >= 2, let id = KioskID(levels[0]) else { return nil }
    // An empty status removes the kiosk: it means that an operator has cleared the retained
    // message.
    if payload.isEmpty, levels[1...] == ["status"] {
      return states.removeValue(forKey: id).map { _ in id }
    }
    let isKnown = states[id] != nil
    guard isKnown || states.count < Self.maximumKiosks else { return nil }
    let report = levels[1...] == ["menu"] ? read(menu: payload) : nil
    // Remove the state first: changing its lists would copy them if `states` still referred to it.
    var state = states.removeValue(forKey: id)?.state ?? KioskState(id: id)
    let isRead = state.receive(
      levels[1...], payload, menu: report, isRetained: isRetained, at: now)
    if isRead || isKnown { states[id] = Shared(state) }
    return isRead ? id : nil
  }

  /// Records the loss of the connection to the broker. On the next connection the broker sends all
  /// retained messages; the fleet then clears those of `clearableTopics` that did not arrive.
  package mutating func disconnected() {
    let root = String(decoding: root, as: UTF8.self)
    unconfirmed = Set(
      states.flatMap { id, kiosk in kiosk.state.clearableTopics.map { "\(root)\(id)/\($0)" } })
    lastRetained = nil
  }

  private mutating func confirm(_ topic: String, isRetained: Bool, at now: Timestamp) {
    guard !unconfirmed.isEmpty else { return }
    unconfirmed.remove(topic)
    if isRetained { lastRetained = now }
    guard let lastRetained, now.since(lastRetained) >= Self.settleTime else { return }
    let cleared = unconfirmed
    unconfirmed = []
    for topic in cleared { receive(topic: topic, payload: [], isRetained: true, at: now) }
  }

  private mutating func read(menu payload: [UInt8]) -> MenuReport? {
    if let menu, menu.payload == payload { return menu.report }
    // A menu that cannot be read is ignored, as in `KioskState.receive`.
    guard let report = try? MenuReport(payload: payload) else { return nil }
    menu = (payload, report)
    return report
  }
}
