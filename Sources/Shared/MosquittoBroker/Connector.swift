import MessageBroker
import Synchronization

/// One attempt to connect, on its own thread: getaddrinfo(3) and connect(2) block, also in the
/// `_async` functions of libmosquitto.
///
/// An abandoned attempt continues until the system call returns, and then closes its socket. It
/// never sends the CONNECT, because only the event loop writes; so it cannot take over the session
/// of a later connection. With the longest timeout on Linux (130 s for connect(2)) and a new
/// attempt every 10 s or more, at most about twelve such threads exist at a time.
final class Connector: Sendable {
  enum Outcome {
    case pending
    case connected(Connection)
    case failed(BrokerError)
    case abandoned
  }

  private let outcome = Mutex(Outcome.pending)

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - addresses: The addresses, tried in this order until one accepts.
  ///   - open: Opens a connection to one address.
  ///   - done: Called by the thread at its end, or at once if no thread could be started.
  init(
    _ addresses: [BrokerAddress],
    open: @escaping @Sendable (BrokerAddress) throws(BrokerError) -> Connection,
    done: @escaping @Sendable () -> Void
  ) {
    let run: @Sendable () -> Void = { [self] in
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
    do throws(BrokerError) { try startThread(run) } catch {
      outcome.withLock { $0 = .failed(error) }
      done()
    }
  }

  private var isWanted: Bool {
    outcome.withLock { if case .pending = $0 { true } else { false } }
  }

  /// Returns the outcome. Returns a connection only once.
  func take() -> Outcome {
    outcome.withLock { outcome in
      defer { if case .connected = outcome { outcome = .abandoned } }
      return outcome
    }
  }

  func abandon() { outcome.withLock { $0 = .abandoned } }
}
