package import JuiceDomain
package import KioskProtocol

/// Every kiosk below a root, as far as their retained topics and events tell.
///
/// A value without a clock and without a broker: it follows from the messages that it was given.
package struct KioskFleet: Sendable {
  /// So many kiosks are kept at most; messages of others are ignored.
  package static let maximumKiosks = 10_000
  /// In bytes; longer messages are ignored.
  package static let maximumPayload = 1 << 18

  private let root: [UInt8]
  package private(set) var kiosks: [KioskID: KioskState] = [:]
  /// Kiosks of a fleet mostly have the same menu: it is kept once.
  private var menu: (payload: [UInt8], report: MenuReport)?

  /// - Parameter root: one or more topic levels without wildcards.
  package init(root: String) {
    self.root = Array(root.utf8) + [UInt8(ascii: "/")]
  }

  package subscript(kiosk: KioskID) -> KioskState? { kiosks[kiosk] }

  /// Topic filters for all messages that a fleet takes in.
  package static func filters(root: String) -> [String] {
    [
      "status", "service", "stock", "alert/+", "machine/+", "menu", "info", "health", "sales",
      "forecast", "history", "events",
    ]
    .map { "\(root)/+/\($0)" }
  }

  /// Takes in a message.
  ///
  /// - Parameter isRetained: the broker had kept the message, which is no news then.
  /// - Returns: the kiosk that changes; `nil` if the message is not about one, or cannot be read.
  @discardableResult
  package mutating func receive(
    topic: String, payload: [UInt8], isRetained: Bool, at now: Timestamp
  ) -> KioskID? {
    guard payload.count <= Self.maximumPayload, topic.utf8.starts(with: root) else { return nil }
    let levels = topic.utf8.dropFirst(root.count)
      .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      .map { String(Substring($0)) }
    guard levels.count >= 2, let id = KioskID(levels[0]) else { return nil }
    // Whoever takes a kiosk away for good clears its status.
    if payload.isEmpty, levels[1...] == ["status"] {
      return kiosks.removeValue(forKey: id).map(\.id)
    }
    let isKnown = kiosks[id] != nil
    guard isKnown || kiosks.count < Self.maximumKiosks else { return nil }
    let report = levels[1...] == ["menu"] ? read(menu: payload) : nil
    let isRead = kiosks[id, default: KioskState(id: id)].receive(
      levels[1...], payload, menu: report, isRetained: isRetained, at: now)
    if !isRead, !isKnown { kiosks[id] = nil }
    return isRead ? id : nil
  }

  private mutating func read(menu payload: [UInt8]) -> MenuReport? {
    if let menu, menu.payload == payload { return menu.report }
    guard let report = try? MenuReport(payload: payload) else { return nil }
    menu = (payload, report)
    return report
  }
}
