import Synchronization
import Testing

/// Limits the concurrently running tests of its suites to eight. Each has its own broker, which
/// disconnects a client that is not scheduled for fifteen seconds.
struct LimitedConcurrency: SuiteTrait, TestTrait, TestScoping {
  private struct Slots {
    var free = 8
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private static let slots = Mutex(Slots())

  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    guard testCase != nil else { return try await function() }
    await withCheckedContinuation { continuation in
      let isFree = Self.slots.withLock { slots in
        guard slots.free == 0 else {
          slots.free -= 1
          return true
        }
        slots.waiting.append(continuation)
        return false
      }
      if isFree { continuation.resume() }
    }
    defer {
      let next = Self.slots.withLock { slots in
        guard slots.waiting.isEmpty else { return Optional(slots.waiting.removeFirst()) }
        slots.free += 1
        return nil
      }
      next?.resume()
    }
    try await function()
  }
}

extension Trait where Self == LimitedConcurrency {
  static var limitedConcurrency: Self { Self() }
}
