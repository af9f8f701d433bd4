import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// One thread that waits for a socket, and the executor of every actor that adopts it and every
/// task that prefers it.
///
/// Between two waits it runs the jobs in hand, then one turn of its owner: whatever a job decides,
/// commits and publishes is written by the turn that follows, without a change of threads. A job may
/// block, as an fsync does.
///
/// Two descriptors, socket and pipe, need no epoll: poll(2) is everywhere, and knows no limit of
/// 1024 descriptors as `mosquitto_loop` does, which uses select(2).
final class EventLoop: SerialExecutor, TaskExecutor {
  typealias Instant = ContinuousClock.Instant

  /// What to wait for. Without a descriptor only for jobs, without a time for ever.
  struct Interest {
    /// Watched for its end at least.
    var socket: Int32?
    var read = false
    var write = false
    var until: Instant?
  }

  /// What the wait has brought.
  struct Readiness {
    /// The socket was watched, so that not to be readable means: it is empty.
    var isWatched = false
    var canRead = false
    /// When that was: jobs that have run since may have taken their time.
    var at = Instant.now
    /// The other side has ended the connection; what it said before may still be unread.
    var isHungUp = false
  }

  private struct State {
    var jobs: [UnownedJob] = []
    /// The thread waits, or is about to, and has to be woken.
    var isWaiting = false
    /// The next wait is to return at once.
    var isWoken = false
  }

  private let state = Mutex(State())
  private let thread = Atomic<UInt>(0)
  private let pipe = makeWakeUpPipe()

  deinit {
    close(pipe.read)
    close(pipe.write)
  }

  /// Starts the thread. It ends when a turn returns `nil`.
  func start(_ iteration: @escaping @Sendable (Readiness) -> Interest?) {
    startThread { [self] in
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

  /// Makes a turn happen soon. From any thread.
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
    // Full can the pipe not be: one byte is written for one wait.
    var byte: UInt8 = 0
    _ = write(pipe.write, &byte, 1)
  }

  /// Runs the jobs in hand, and those that they make: one task is several, which follow each other.
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
    // poll(2) passes over a negative descriptor.
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
  /// POLLHUP tells of a FIN, unasked.
  private static let hangUp: Int16 = 0
  #else
  /// POLLRDHUP, which glibc declares only for _GNU_SOURCE: a FIN, without asking for data.
  private static let hangUp: Int16 = 0x2000
  #endif
}
