import MessageBroker
import Synchronization

/// One attempt to connect, on a thread of its own: getaddrinfo(3) and connect(2) block, in the
/// `_async` variants of libmosquitto too.
///
/// An attempt that is given up goes on until the system lets go of its address, and then closes what it has
/// opened. Not even its CONNECT is written, since only the event loop writes, so it cannot take a
/// session from a later connection. With the longest waits that Linux makes (130 s for connect(2))
/// and a new attempt after 10 s or more, a dozen such threads at most are waiting at a time.
final class Connector: Sendable {
  enum Outcome {
    case pending
    case connected(Connection)
    case failed(BrokerError)
    case abandoned
  }

  private let outcome = Mutex(Outcome.pending)

  /// - Parameters:
  ///   - addresses: tried in this order, until one accepts.
  ///   - done: called on that thread when there is an outcome to take.
  init(
    _ addresses: [BrokerAddress],
    open: @escaping @Sendable (BrokerAddress) throws(BrokerError) -> Connection,
    done: @escaping @Sendable () -> Void
  ) {
    startThread { [self] in
      var result = Outcome.pending
      for address in addresses where isWanted {
        do throws(BrokerError) {
          result = .connected(try open(address))
          break
        } catch {
          result = .failed(error)
        }
      }
      outcome.withLock { if case .pending = $0 { $0 = result } }
      done()
    }
  }

  private var isWanted: Bool {
    outcome.withLock { if case .pending = $0 { true } else { false } }
  }

  /// Hands over what there is; a connection only once.
  func take() -> Outcome {
    outcome.withLock { outcome in
      defer { if case .connected = outcome { outcome = .abandoned } }
      return outcome
    }
  }

  func abandon() { outcome.withLock { $0 = .abandoned } }
}
