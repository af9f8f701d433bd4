import Fleet
import JuiceDomain
import ServiceLifecycle
import Synchronization

/// Tells open pages when something on them has changed.
final class LiveUpdates: Service {
  /// The changes that a page waits for.
  enum Interest: Sendable, Hashable {
    case fleet
    case kiosk(KioskID)
    case route(Route.ID)
  }

  /// So many pages are kept up to date at once; one more is refused, and has to be reloaded by hand.
  static let maximum = 500

  private struct State {
    var pages: [Int: (interest: Interest, signal: AsyncStream<Void>.Continuation)] = [:]
    var count = 0
    var isClosed = false
  }

  private let state = Mutex(State())

  /// - Returns: a signal after each change, several at once counting as one; `nil` if too many pages
  ///   are open already. It ends with the process, or when its task is cancelled.
  func subscribe(to interest: Interest) -> AsyncStream<Void>? {
    let (signals, signal) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let number: Int? = state.withLock { state in
      guard !state.isClosed, state.pages.count < Self.maximum else { return nil }
      state.count += 1
      state.pages[state.count] = (interest, signal)
      return state.count
    }
    guard let number else { return nil }
    signal.onTermination = { [self] _ in state.withLock { $0.pages[number] = nil } }
    // The page may have missed changes before it listened.
    signal.yield()
    return signals
  }

  func changed(_ kiosks: Set<KioskID>) {
    signal { interest in
      switch interest {
      case .fleet: true
      case .kiosk(let id): kiosks.contains(id)
      case .route: false
      }
    }
  }

  func changed(_ route: Route.ID) { signal { $0 == .route(route) } }

  func everythingChanged() { signal { _ in true } }

  /// Signals now and then even if nothing has changed: times on a page go on, a proxy closes a silent
  /// connection, and a page has to end when its user was logged out. On shutdown all updates end.
  func run() async {
    await cancelWhenGracefulShutdown {
      while (try? await Task.sleep(for: .seconds(15))) != nil { self.everythingChanged() }
    }
    close()
  }

  private func close() {
    let signals = state.withLock { state in
      state.isClosed = true
      return state.pages.values.map(\.signal)
    }
    for signal in signals { signal.finish() }
  }

  private func signal(_ isConcerned: (Interest) -> Bool) {
    let signals = state.withLock { state in
      state.pages.values.filter { isConcerned($0.interest) }.map(\.signal)
    }
    for signal in signals { signal.yield() }
  }
}
