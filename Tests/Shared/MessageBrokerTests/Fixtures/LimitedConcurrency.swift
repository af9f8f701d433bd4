import Synchronization
import Testing

/// Lets eight tests of its suites run at a time. Each has a broker of its own, and a broker ends the
/// connection of a client that gets no turn for fifteen seconds.
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
