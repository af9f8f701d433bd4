import Fleet
import JuiceDomain
import ServiceLifecycle
import Synchronization

/// Notifies open pages of changes to what they show.
final class LiveUpdates: Service {
  /// The changes that a page subscribes to.
  enum Interest: Sendable, Hashable {
    case fleet
    case kiosk(KioskID)
    case route(Route.ID)
  }

  /// Maximum number of pages that are updated live. A further page is refused and has to be
  /// reloaded by hand.
  static let maximum = 500

  private struct State {
    var pages: [Int: (interest: Interest, signal: AsyncStream<Void>.Continuation)] = [:]
    var count = 0
    var isClosed = false
  }

  private let state = Mutex(State())

  /// Subscribes a page to changes.
  ///
  /// - Returns: A signal after each change, or `nil` if too many pages are open. Several changes
  ///   may be combined into one signal. The stream ends with the process, or when its task is
  ///   cancelled.
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
    // A change may have occurred between rendering the page and subscribing.
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

  /// Signals all pages every 15 seconds even without a change, to update the times on a page, to
  /// keep proxies from closing the connection, and to end pages whose user was logged out. Ends all
  /// streams on shutdown.
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
