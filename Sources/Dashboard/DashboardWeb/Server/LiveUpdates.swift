import Fleet
import JuiceDomain
import ServiceLifecycle
import Synchronization
import TimeZones

/// Notifies open pages of changes of the state that they show.
final class LiveUpdates: Service {
  /// The changes that a page subscribes to.
  enum Interest: Sendable, Hashable {
    case fleet
    case kiosk(KioskID)
    case route(Route.ID)
  }

  /// Maximum number of pages that are updated live. The server refuses the updates of a further
  /// page, whose script tries again after five seconds.
  static let maximum = 500
  /// Maximum number of pages of one session. A browser opens at most six connections, and a hidden
  /// page has no connection.
  static let maximumOfSession = 25
  /// Maximum number of pages of one user, so that one account cannot use up `maximum`. All displays
  /// without a login together count as one user.
  static let maximumOfUser = maximum / 2

  private struct Page {
    let interest: Interest
    let session: String
    let user: User.Name?
    let signal: AsyncStream<Void>.Continuation
  }

  private struct State {
    var pages: [Int: Page] = [:]
    var count = 0
    var isClosed = false
  }

  private let state = Mutex(State())

  /// Subscribes a page to changes.
  ///
  /// - Parameter session: The token of the page's session.
  /// - Returns: A stream with a signal after each change, or `nil` after shutdown or if too many
  ///   pages are open: in total, of this session, or of this user. Several changes may cause one
  ///   signal. The stream ends on shutdown, or when the task that reads it is cancelled.
  func subscribe(
    to interest: Interest, session: String, user: User.Name?
  ) -> AsyncStream<Void>? {
    let (signals, signal) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let number: Int? = state.withLock { state in
      guard !state.isClosed, state.pages.count < Self.maximum,
        state.pages.values.count(where: { $0.session == session }) < Self.maximumOfSession,
        state.pages.values.count(where: { $0.user == user }) < Self.maximumOfUser
      else { return nil }
      state.count += 1
      state.pages[state.count] = Page(
        interest: interest, session: session, user: user, signal: signal)
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
      // The sleep throws only if the task is cancelled.
      while (try? await Task.sleep(for: .seconds(15))) != nil {
        WallClock.refresh()
        self.everythingChanged()
      }
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
