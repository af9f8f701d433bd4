import Dispatch
import Synchronization

/// Hashes passwords one after the other on its own dispatch queue, so that the threads that serve
/// pages do not block.
final class PasswordQueue: Sendable {
  /// Maximum number of passwords that wait or are being hashed. The last one waits some seconds.
  static let limit = 16

  private let thread: DispatchQueue
  private let waiting = Mutex(0)

  init(label: String) { thread = DispatchQueue(label: label) }

  /// Runs work on the queue.
  ///
  /// - Throws: `RequestError.busy` if the queue is full.
  func run<Value: Sendable>(
    _ work: @escaping @Sendable () -> Value
  ) async throws(RequestError) -> Value {
    let isFull = waiting.withLock { waiting in
      waiting += 1
      return waiting > Self.limit
    }
    guard !isFull else {
      waiting.withLock { $0 -= 1 }
      throw .busy
    }
    return await withCheckedContinuation { continuation in
      thread.async { [self] in
        let value = work()
        waiting.withLock { $0 -= 1 }
        continuation.resume(returning: value)
      }
    }
  }
}
