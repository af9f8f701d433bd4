/// Keeps the rule of `SessionOptions.sessionExpiry` on the client's side.
///
/// Its times go on while the computer sleeps: one that was asleep was away.
struct SessionLifetime: Sendable {
  typealias Instant = Session.Instant

  var expiry: Duration
  private(set) var mustStartClean: Bool
  /// When the last packet came; before the first one, when it all began.
  private var lastReceived: Instant
  /// Since when something may be waiting in the session.
  private var lastProcessed: Instant
  /// What came last was given up, and comes again: to hear of it once more serves nobody.
  private var hasAbandoned = false
  /// What waits in the session reaches the client on this connection.
  private var isOnline = false
  /// When the socket was last known to be empty, or emptied.
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

  /// A session has begun without anything from before.
  mutating func startedClean(at now: Instant) {
    mustStartClean = false
    hasAbandoned = false
    lastProcessed = now
  }

  /// Whether a connection may resume the session now. Once it may not, it may not again before a
  /// clean start.
  mutating func mayResume(at now: Instant) -> Bool {
    if expiry > .zero, now - lastProcessed > expiry { mustStartClean = true }
    return !mustStartClean
  }

  /// Whether what is in the socket may have waited there for longer than the session lives: the
  /// process was stopped, or a job has blocked the loop.
  mutating func mayHaveExpired(at now: Instant) -> Bool {
    guard expiry > .zero, now - lastSocketCheck > expiry else { return false }
    mustStartClean = true
    return true
  }

  /// For the check above to tell sleep from waiting, a wait for the socket must be shorter.
  var longestWait: Duration { expiry > .zero ? min(.seconds(1), expiry / 2) : .seconds(1) }
}
