package import KioskProtocol
import Synchronization

/// Passes the desired menu of a chain from the uplink to the kiosk, and the kiosk's report about
/// the menu to the uplink. Neither side blocks.
package final class MenuMailbox: Sendable {
  private struct State {
    var desired: DesiredMenu?
    var report: DesiredMenuReport?
    /// The report of the menu in use.
    var current: DesiredMenuReport
    /// The version of the menu in use, or 0 for the menu of the kiosk's own configuration.
    var version: Int
    /// The version that the kiosk has taken out of the mailbox and not reported yet, or 0 if there is none.
    var pending = 0

    var newest: Int { max(version, pending, desired?.version ?? 0) }
  }

  private let state: Mutex<State>
  /// Yields an element when a menu arrives in an empty mailbox.
  package let arrivals: AsyncStream<Void>
  private let arrival: AsyncStream<Void>.Continuation

  /// Creates an empty mailbox.
  ///
  /// - Parameters:
  ///   - version: The version of the menu in use, or 0 for the menu of the kiosk's own
  ///     configuration.
  ///   - problem: The reason why the kiosk does not use the chain's stored menu, or `nil` if there is none.
  package init(version: Int, problem: String? = nil) {
    state = Mutex(State(current: .taken(version: version, detail: problem), version: version))
    (arrivals, arrival) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  /// The report of the menu in use.
  var currentReport: DesiredMenuReport { state.withLock(\.current) }

  /// Stores a menu, in place of one that the kiosk has not taken yet.
  ///
  /// - Returns: The report that refuses a menu older than the newest known one, or `nil` if the
  ///   menu is stored.
  func post(_ menu: DesiredMenu) -> DesiredMenuReport? {
    let (isNew, newest) = state.withLock { state in
      let newest = state.newest
      guard menu.version >= newest else { return (false, newest) }
      defer { state.desired = menu }
      return (state.desired == nil, newest)
    }
    if isNew { arrival.yield() }
    guard menu.version < newest else { return nil }
    return .refused(version: menu.version, detail: "it is older than menu \(newest)")
  }

  func takeReport() -> DesiredMenuReport? {
    state.withLock { state in
      defer { state.report = nil }
      return state.report
    }
  }

  package func takeDesired() -> DesiredMenu? {
    state.withLock { state in
      defer { state.desired = nil }
      state.pending = state.desired?.version ?? state.pending
      return state.desired
    }
  }

  package func report(_ report: DesiredMenuReport) {
    state.withLock { state in
      state.report = report
      state.pending = 0
      if case .taken(let version, _) = report { (state.current, state.version) = (report, version) }
    }
  }
}
