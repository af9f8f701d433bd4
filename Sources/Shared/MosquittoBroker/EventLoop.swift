import MessageBroker
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A thread that waits for a socket, and the executor of each actor that adopts it and of each task
/// that prefers it.
///
/// Between two waits it runs the queued jobs, then one iteration of its owner. So the iteration
/// after a job writes the messages that the job published, without a thread switch. A job may
/// block, as an fsync does.
///
/// The loop watches two descriptors, the socket and a pipe, so poll(2) is sufficient. It is
/// portable and has no limit of 1024 descriptors, unlike `mosquitto_loop`, which uses select(2).
final class EventLoop: SerialExecutor, TaskExecutor {
  typealias Instant = ContinuousClock.Instant

  /// The events and the deadline of the next wait. Without a socket, only a job, `wake()` or
  /// the deadline ends the wait; without a deadline, the wait has no time limit.
  struct Interest {
    /// The socket to watch; a hang-up is always reported.
    var socket: Int32?
    var read = false
    var write = false
    var until: Instant?
  }

  /// The result of a wait.
  struct Readiness {
    /// Whether the socket was watched for reading: then `!canRead` means that the socket is empty.
    var isWatched = false
    var canRead = false
    /// The time of the result. Jobs that ran since may have taken some time.
    var at = Instant.now
    /// Whether the peer has closed the connection. Data that it sent before may still be unread.
    var isHungUp = false
  }

  private struct State {
    var jobs: [UnownedJob] = []
    /// Whether the thread is waiting or about to wait, and so has to be woken up.
    var isWaiting = false
    /// Whether the next wait must return immediately.
    var isWoken = false
  }

  private let state = Mutex(State())
  private let thread = Atomic<UInt>(0)
  private let pipe: (read: Int32, write: Int32)

  init() throws(BrokerError) { pipe = try makeWakeUpPipe() }

  deinit {
    close(pipe.read)
    close(pipe.write)
  }

  /// Starts the thread, which ends when `iteration` returns `nil`.
  func start(
    _ iteration: @escaping @Sendable (Readiness) -> Interest?
  ) throws(BrokerError) {
    try startThread { [self] in
      thread.store(Self.currentThread, ordering: .relaxed)
      var ready = Readiness()
      runJobs()
      while let interest = iteration(ready) {
        ready = wait(for: interest)
        runJobs()
      }
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    wake { $0.jobs.append(job) }
  }

  /// Triggers an iteration. May be called from any thread.
  func wake() { wake { $0.isWoken = true } }

  func checkIsolated() {
    precondition(isIsolatingCurrentContext() == true, "not on the event loop's thread")
  }

  func isIsolatingCurrentContext() -> Bool? {
    thread.load(ordering: .relaxed) == Self.currentThread
  }

  private static var currentThread: UInt {
    #if canImport(Glibc)
    pthread_self()
    #else
    UInt(bitPattern: pthread_self())
    #endif
  }

  private func wake(_ change: (inout State) -> Void) {
    let isWaiting = state.withLock { state in
      change(&state)
      defer { state.isWaiting = false }
      return state.isWaiting
    }
    guard isWaiting else { return }
    // The pipe cannot be full: one byte is written per wait.
    var byte: UInt8 = 0
    _ = write(pipe.write, &byte, 1)
  }

  /// Runs the queued jobs and the jobs that these enqueue: one task consists of several consecutive
  /// jobs.
  private func runJobs() {
    while true {
      let jobs = state.withLock { state in
        defer { state.jobs = [] }
        return state.jobs
      }
      if jobs.isEmpty { return }
      for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
    }
  }

  private func wait(for interest: Interest) -> Readiness {
    let mustWait = state.withLock { state in
      state.isWaiting = state.jobs.isEmpty && !state.isWoken
      state.isWoken = false
      return state.isWaiting
    }
    let timeout = mustWait ? interest.until.map { ContinuousClock.now.duration(to: $0) } : .zero
    let events =
      (interest.read ? Int16(POLLIN) : 0) | (interest.write ? Int16(POLLOUT) : 0) | Self.hangUp
    // poll(2) ignores a negative descriptor.
    var watched = [
      pollfd(fd: pipe.read, events: Int16(POLLIN), revents: 0),
      pollfd(fd: interest.socket ?? -1, events: events, revents: 0),
    ]
    let count = poll(&watched, 2, timeout?.pollTimeout ?? -1)
    state.withLock { $0.isWaiting = false }
    guard count >= 0 else { return Readiness() }
    if watched[0].revents != 0 {
      var bytes: (UInt64, UInt64) = (0, 0)
      _ = read(pipe.read, &bytes, 16)
    }
    let came = watched[1].revents
    let ends = Self.hangUp | Int16(POLLHUP) | Int16(POLLERR) | Int16(POLLNVAL)
    return Readiness(
      isWatched: interest.socket != nil && interest.read,
      canRead: interest.read && came & (Int16(POLLIN) | ends) != 0, isHungUp: came & ends != 0)
  }

  #if canImport(Darwin)
  /// No event: poll(2) on Darwin reports a FIN as POLLHUP without a request.
  private static let hangUp: Int16 = 0
  #else
  /// POLLRDHUP, which reports a FIN without polling for data. glibc declares it only with
  /// _GNU_SOURCE.
  private static let hangUp: Int16 = 0x2000
  #endif
}
