package import KioskProtocol
import Synchronization

/// Where the way up leaves the menu that a chain wants, and finds what has come of it. Neither waits for
/// the other.
package final class MenuMailbox: Sendable {
  private struct State {
    var desired: DesiredMenu?
    var report: DesiredMenuReport?
    /// Of the menu that the kiosk sells by; 0: its own.
    var version: Int
  }

  private let state: Mutex<State>
  /// One for each time that a menu lies here after there was none.
  package let arrivals: AsyncStream<Void>
  private let arrival: AsyncStream<Void>.Continuation

  /// - Parameter version: of the menu that the kiosk sells by; 0: its own.
  package init(version: Int) {
    state = Mutex(State(version: version))
    (arrivals, arrival) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  /// What the kiosk has to say to whoever it meets.
  var currentReport: DesiredMenuReport { .taken(version: state.withLock(\.version)) }

  /// A later one takes the place of one that nobody has taken yet.
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
