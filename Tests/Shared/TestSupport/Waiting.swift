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
