/// Enforces `SessionOptions.sessionExpiry` on the client side.
///
/// Its times include the time during which the computer sleeps: a sleeping client counts as absent.
struct SessionLifetime: Sendable {
  typealias Instant = Session.Instant

  var expiry: Duration
  private(set) var mustStartClean: Bool
  /// The time of the last packet; before the first one, the time of the start.
  private var lastReceived: Instant
  /// The earliest time from which messages may wait in the session.
  private var lastProcessed: Instant
  /// Whether the last batch was abandoned. Receiving its redelivery does not count as processing.
  private var hasAbandoned = false
  /// Whether this connection delivers the messages that wait in the session.
  private var isOnline = false
  /// The last time at which the socket was opened, read or known to be empty.
  private var lastSocketCheck: Instant

  init(_ options: SessionOptions, at now: Instant) {
    expiry = options.sessionExpiry
    mustStartClean = options.cleanStart
    lastReceived = now
    lastProcessed = now - options.absence
    lastSocketCheck = now
  }

  mutating func received(at now: Instant) {
    lastReceived = now
    if isOnline, !hasAbandoned { lastProcessed = now }
  }

  mutating func online(at now: Instant) {
    isOnline = true
    received(at: now)
  }

  mutating func connectionLost() { isOnline = false }

  mutating func abandoned() { hasAbandoned = true }

  mutating func processed() {
    hasAbandoned = false
    lastProcessed = lastReceived
  }

  mutating func checkedSocket(at now: Instant) { lastSocketCheck = now }

  func hasReceived(since then: Instant) -> Bool { lastReceived >= then }

  /// Records that a session without earlier state has begun.
  mutating func startedClean(at now: Instant) {
    mustStartClean = false
    hasAbandoned = false
    lastProcessed = now
  }

  /// Returns whether a connection may resume the session now. After `false`, the result stays
  /// `false` until a clean start.
  mutating func mayResume(at now: Instant) -> Bool {
    if expiry > .zero, now - lastProcessed > expiry { mustStartClean = true }
    return !mustStartClean
  }

  /// Returns whether data in the socket may be older than the session expiry, because the process
  /// was suspended or a task blocked the loop; if so, the next connection must start clean.
  mutating func mayHaveExpired(at now: Instant) -> Bool {
    guard expiry > .zero, now - lastSocketCheck > expiry else { return false }
    mustStartClean = true
    return true
  }

  /// Maximum duration of a wait for the socket; it must be shorter than the expiry, so that
  /// `mayHaveExpired` can distinguish a suspended process from a waiting one.
  var longestWait: Duration { expiry > .zero ? min(.seconds(1), expiry / 2) : .seconds(1) }
}
