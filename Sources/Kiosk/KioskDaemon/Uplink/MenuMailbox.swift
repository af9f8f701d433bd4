package import KioskProtocol
import Synchronization

/// A mailbox between the uplink and the kiosk: holds the desired menu of a chain and the kiosk's
/// report about it. Neither side blocks.
package final class MenuMailbox: Sendable {
  private struct State {
    var desired: DesiredMenu?
    var report: DesiredMenuReport?
    /// The version of the menu in use, or 0 for the menu of the kiosk's own configuration.
    var version: Int
  }

  private let state: Mutex<State>
  /// An element for each menu that arrives in an empty mailbox.
  package let arrivals: AsyncStream<Void>
  private let arrival: AsyncStream<Void>.Continuation

  /// - Parameter version: The version of the menu in use, or 0 for the menu of the kiosk's own
  ///   configuration.
  package init(version: Int) {
    state = Mutex(State(version: version))
    (arrivals, arrival) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  /// The report of the menu in use.
  var currentReport: DesiredMenuReport { .taken(version: state.withLock(\.version)) }

  /// Stores a menu, in place of one that has not been taken yet.
  func post(_ menu: DesiredMenu) {
    let isNew = state.withLock { state in
      defer { state.desired = menu }
      return state.desired == nil
    }
    if isNew { arrival.yield() }
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
      return state.desired
    }
  }

  package func report(_ report: DesiredMenuReport) {
    state.withLock { state in
      state.report = report
      if case .taken(let version) = report { state.version = version }
    }
  }
}
