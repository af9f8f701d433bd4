import Foundation

/// Polls an external condition that cannot be observed otherwise, until it is true.
package func waitUntil(_ what: String, _ isTrue: () -> Bool) throws {
  let deadline = ContinuousClock.now + .seconds(60)
  while !isTrue() {
    guard ContinuousClock.now < deadline else {
      throw TestSupportError(description: "waited in vain until \(what)")
    }
    poll(nil, 0, 2)
  }
}

/// Runs the body, which waits for messages. Throws an error and cancels it after five minutes.
package func withDeadline(_ body: @Sendable @escaping () async throws -> Void) async throws {
  try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask(operation: body)
    group.addTask {
      try await Task.sleep(for: .seconds(300))
      throw TestSupportError(description: "waited in vain for five minutes")
    }
    defer { group.cancelAll() }
    try await group.next()
  }
}
