import Synchronization
import Testing

/// Lets eight tests of its suites run at a time. Each has a broker of its own, and a broker ends the
/// connection of a client that gets no turn for fifteen seconds.
struct FewAtATime: SuiteTrait, TestTrait, TestScoping {
  private struct Turns {
    var free = 8
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private static let turns = Mutex(Turns())

  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    guard testCase != nil else { return try await function() }
    await withCheckedContinuation { continuation in
      let isFree = Self.turns.withLock { turns in
        guard turns.free == 0 else {
          turns.free -= 1
          return true
        }
        turns.waiting.append(continuation)
        return false
      }
      if isFree { continuation.resume() }
    }
    defer {
      let next = Self.turns.withLock { turns in
        guard turns.waiting.isEmpty else { return Optional(turns.waiting.removeFirst()) }
        turns.free += 1
        return nil
      }
      next?.resume()
    }
    try await function()
  }
}

extension Trait where Self == FewAtATime {
  static var fewAtATime: Self { Self() }
}
