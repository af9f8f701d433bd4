import JuiceDomain
import KioskProtocol

/// What leaves next on the way up, and when: a value that does no I/O and reads no clock.
///
/// What is new goes first, from the entry after the last one that the broker has confirmed; then what
/// an archive has asked for again. Both share one pace, and so many entries at most are on their way
/// unconfirmed.
struct UplinkScheduler: Sendable {
  struct Limits: Sendable {
    /// Entries in a second.
    var pace = 200
    /// Entries on their way that are not confirmed.
    var window = 500
    /// Entries that are read and published in one go: whoever reads more holds up what else the
    /// computer has to do.
    var page = 50
    /// Entries that one request brings.
    var replay = 10_000
    /// Archives that are served at a time.
    var archives = 4
    /// After the broker has refused entries, which no trying mends.
    var pause = Duration.seconds(60)
  }

  /// Entries that an archive has asked for again.
  struct Replay: Hashable, Sendable {
    let archive: Request.ID
    let id: Request.ID
    let epoch: Int
    let range: ClosedRange<Int>
    /// Everything before it has been published.
    var next: Int

    var isOver: Bool { next > range.upperBound }
  }

  enum Step: Hashable, Sendable {
    /// Publish so many of the entries after this one.
    case publish(after: Int, count: Int)
    case replay(Replay, count: Int)
    /// Nothing before so long; `nil`: before something happens.
    case wait(Duration?)
  }

  private let limits: Limits
  private var bucket: TokenBucket
  /// Every entry up to this one is up there.
  private(set) var cursor: Int
  /// The last entry that there is.
  private(set) var last: Int
  private var isOnline = false
  /// On this connection, as far as it is known to the broker or on its way.
  private var published: Int
  /// What is on its way, in the order in which it was published.
  private var pending: [(serial: UInt64, count: Int, cursor: Int?)] = []
  private var replays: [Replay] = []
  private var pausedUntil: Duration?

  /// - Parameter cursor: every entry up to this one is known to be up there.
  init(cursor: Int, limits: Limits = Limits()) {
    self.limits = limits
    self.cursor = cursor
    (published, last) = (cursor, cursor)
    bucket = TokenBucket(perSecond: limits.pace)
  }

  private var inFlight: Int { pending.reduce(0) { $0 + $1.count } }

  // MARK: What happens

  mutating func online() {
    connectionLost()
    isOnline = true
  }

  /// What was not confirmed leaves again, and what an archive has asked for it asks for again.
  mutating func connectionLost() {
    isOnline = false
    pending = []
    published = cursor
    replays = []
  }

  mutating func recorded(through seq: Int) { last = max(last, seq) }

  /// - Parameter serial: the running number up to which the broker has what was published.
  mutating func confirmed(through serial: UInt64) {
    let count = pending.prefix { $0.serial <= serial }.count
    for part in pending.prefix(count) { cursor = max(cursor, part.cursor ?? 0) }
    pending.removeFirst(count)
  }

  /// The broker has refused entries, and has counted them as confirmed.
  mutating func refused(at now: Duration) {
    connectionLost()
    isOnline = true
    pausedUntil = now + limits.pause
  }

  /// - Parameters:
  ///   - entries: those that the kiosk has of what was asked for.
  ///   - before: see `ReplayResult.replaying`.
  mutating func requested(
    _ id: Request.ID, by archive: Request.ID, epoch: Int, entries: ClosedRange<Int>,
    before: Int? = nil
  ) -> ReplayResult {
    let end = min(entries.upperBound, entries.lowerBound + limits.replay - 1)
    let replay = Replay(
      archive: archive, id: id, epoch: epoch, range: entries.lowerBound...end,
      next: entries.lowerBound)
    if let known = replays.firstIndex(where: { $0.archive == archive }) {
      // The same is asked for until it is answered.
      if replays[known].id != id || replays[known].range != replay.range {
        replays[known] = replay
      }
    } else {
      guard replays.count < limits.archives else {
        return .rejected(id, .busy, detail: "\(limits.archives) others are being served")
      }
      replays.append(replay)
    }
    return .replaying(id, epoch: epoch, replay.range, before: before)
  }

  // MARK: What is to be done

  mutating func next(at now: Duration) -> Step {
    guard isOnline else { return .wait(nil) }
    if let pausedUntil {
      guard now >= pausedUntil else { return .wait(pausedUntil - now) }
      self.pausedUntil = nil
    }
    let replay = replays.first
    let wanted =
      published < last ? last - published : replay.map { $0.range.upperBound - $0.next + 1 } ?? 0
    let room = limits.window - inFlight
    guard wanted > 0, room > 0 else { return .wait(nil) }
    let count = min(wanted, room, limits.page, bucket.available(at: now))
    guard count > 0 else { return .wait(bucket.wait(for: min(wanted, limits.page))) }
    if published < last { return .publish(after: published, count: count) }
    return replay.map { .replay($0, count: count) } ?? .wait(nil)
  }

  /// - Parameter serial: the running number of the last of them.
  mutating func published(through seq: Int, serial: UInt64) {
    let count = seq - published
    published = seq
    bucket.take(count)
    pending.append((serial, count, seq))
  }

  /// - Returns: the replay if it is over.
  mutating func replayed(_ replay: Replay, through seq: Int, serial: UInt64) -> Replay? {
    bucket.take(seq - replay.next + 1)
    pending.append((serial, seq - replay.next + 1, nil))
    guard let index = replays.firstIndex(of: replay) else { return nil }
    replays[index].next = seq + 1
    // The next archive has its turn.
    let moved = replays.remove(at: index)
    if moved.isOver { return moved }
    replays.append(moved)
    return nil
  }
}
