import MessageBroker

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Starts a thread that runs `body` and then ends.
///
/// SIGPIPE is blocked in this thread only: libmosquitto and OpenSSL write with write(2), and
/// writing to a connection that the broker has reset would otherwise end the process.
///
/// - Throws: `BrokerError.unreachable` if the system has no thread left.
func startThread(_ body: @escaping @Sendable () -> Void) throws(BrokerError) {
  #if canImport(Darwin)
  var thread: pthread_t?
  #else
  var thread = pthread_t()
  #endif
  let body = Unmanaged.passRetained(ThreadBody(body))
  let failure = pthread_create(
    &thread, nil,
    { argument in
      var pipe = sigset_t()
      sigemptyset(&pipe)
      sigaddset(&pipe, SIGPIPE)
      pthread_sigmask(SIG_BLOCK, &pipe, nil)
      pthread_detach(pthread_self())
      ThreadBody.take(argument)?.run()
      return nil
    }, body.toOpaque())
  guard failure == 0 else {
    body.release()
    throw .unreachable("no thread could be started: \(systemError(failure))")
  }
}

private final class ThreadBody {
  let run: @Sendable () -> Void

  init(_ run: @escaping @Sendable () -> Void) { self.run = run }

  /// Accepts both signatures of pthread_create(3): a pointer on Darwin, an optional one on Linux.
  static func take(_ address: UnsafeMutableRawPointer?) -> ThreadBody? {
    address.map { Unmanaged<ThreadBody>.fromOpaque($0).takeRetainedValue() }
  }
}

/// Creates a non-blocking pipe that child processes do not inherit.
///
/// - Throws: `BrokerError.unreachable` if too many files are open.
func makeWakeUpPipe() throws(BrokerError) -> (read: Int32, write: Int32) {
  var ends: [Int32] = [-1, -1]
  guard pipe(&ends) == 0 else {
    throw .unreachable("no pipe could be opened: \(systemError(errno))")
  }
  for end in ends {
    _ = fcntl(end, F_SETFL, O_NONBLOCK)
    _ = fcntl(end, F_SETFD, FD_CLOEXEC)
  }
  return (ends[0], ends[1])
}

/// Returns the text for an `errno` value.
func systemError(_ number: Int32) -> String { String(cString: strerror(number)) }

extension Duration {
  /// The timeout for poll(2): whole milliseconds, rounded up so that a wait never ends early; one
  /// day at most.
  var pollTimeout: Int32 {
    guard self > .zero else { return 0 }
    let (seconds, attoseconds) = components
    guard seconds < 86_400 else { return 86_400_000 }
    return Int32(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }
}
