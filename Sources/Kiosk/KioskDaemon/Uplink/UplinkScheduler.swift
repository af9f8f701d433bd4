import JuiceDomain
import KioskProtocol

/// Decides which entries the uplink publishes next, and when: a value without I/O or a clock.
///
/// New entries go first, from the one after the last confirmed entry. Entries that an archive
/// requests follow. Both share one rate limit and one limit on unconfirmed entries.
///
/// ```swift
/// var scheduler = UplinkScheduler(cursor: 100)
/// scheduler.recorded(through: 103)
/// scheduler.online()
/// scheduler.next(at: now)  // .publish(after: 100, count: 3)
/// scheduler.published(through: 103, serial: 3)
/// scheduler.confirmed(through: 3)  // cursor == 103
/// ```
struct UplinkScheduler: Sendable {
  struct Limits: Sendable {
    /// Maximum number of entries published per second.
    var pace = 200
    /// Maximum number of published entries that are not confirmed.
    var window = 500
    /// Maximum number of entries read and published at once. A larger page would delay other work
    /// of the computer.
    var page = 50
    /// Maximum number of entries per replay request.
    var replay = 10_000
    /// Maximum number of archives with a replay in progress.
    var archives = 4
    /// Pause after the broker has refused entries, because an immediate retry does not help.
    var pause = Duration.seconds(60)
  }

  /// Recorded entries that an archive requests.
  struct Replay: Hashable, Sendable {
    let archive: Request.ID
    let id: Request.ID
    let epoch: Int
    let range: ClosedRange<Int>
    /// The first entry of `range` that this replay has not published yet.
    var next: Int

    var isOver: Bool { next > range.upperBound }
  }

  enum Step: Hashable, Sendable {
    /// Publishes `count` entries, beginning with the one after the entry `after`.
    case publish(after: Int, count: Int)
    case replay(Replay, count: Int)
    /// Waits for this time, or, if it is `nil`, for the next event.
    case wait(Duration?)
  }

  private let limits: Limits
  private var bucket: TokenBucket
  /// The entry up to which the upstream broker has confirmed all entries.
  private(set) var cursor: Int
  /// The last entry that the ledger is known to have, at first `cursor`.
  private(set) var last: Int
  private var isOnline = false
  /// The last entry that is confirmed or was published on this connection.
  private var published: Int
  /// The unconfirmed publications, in the order of publication.
  private var pending: [(serial: UInt64, count: Int, cursor: Int?)] = []
  private var replays: [Replay] = []
  private var pausedUntil: Duration?

  /// Creates a scheduler without a connection.
  ///
  /// - Parameter cursor: The entry up to which all entries are known to be confirmed.
  init(cursor: Int, limits: Limits = Limits()) {
    self.limits = limits
    self.cursor = cursor
    (published, last) = (cursor, cursor)
    bucket = TokenBucket(perSecond: limits.pace)
  }

  private var inFlight: Int { pending.reduce(0) { $0 + $1.count } }

  // MARK: Events

  mutating func online() {
    connectionLost()
    isOnline = true
  }

  /// Records the loss of the connection. The scheduler publishes unconfirmed entries again, and
  /// archives repeat their requests.
  mutating func connectionLost() {
    isOnline = false
    pending = []
    published = cursor
    replays = []
  }

  mutating func recorded(through seq: Int) { last = max(last, seq) }

  /// Records that the broker has confirmed publications, and advances the cursor.
  ///
  /// - Parameter serial: The serial number up to which the broker has confirmed publications.
  mutating func confirmed(through serial: UInt64) {
    let count = pending.prefix { $0.serial <= serial }.count
    for part in pending.prefix(count) { cursor = max(cursor, part.cursor ?? 0) }
    pending.removeFirst(count)
  }

  /// Records that the broker has refused entries, and ends all replays. `BrokerClient.confirmed` includes
  /// the refused entries, so after a pause the scheduler publishes all entries after the cursor again.
  mutating func refused(at now: Duration) {
    connectionLost()
    isOnline = true
    pausedUntil = now + limits.pause
  }

  /// Starts or continues a replay, in place of another one of this archive; or rejects it as `busy`.
  ///
  /// - Parameters:
  ///   - entries: The requested entries that the ledger has.
  ///   - before: The previous epoch, if the entries start at the beginning of their epoch; see
  ///     `ReplayResult.replaying`.
  mutating func requested(
    _ id: Request.ID, by archive: Request.ID, epoch: Int, entries: ClosedRange<Int>,
    before: Int? = nil
  ) -> ReplayResult {
    let end = min(entries.upperBound, entries.lowerBound + limits.replay - 1)
    let replay = Replay(
      archive: archive, id: id, epoch: epoch, range: entries.lowerBound...end,
      next: entries.lowerBound)
    if let known = replays.firstIndex(where: { $0.archive == archive }) {
      // An archive repeats a request until it receives the answer.
      if replays[known].id != id || replays[known].range != replay.range {
        replays[known] = replay
      }
    } else {
      guard replays.count < limits.archives else {
        return .rejected(id, .busy, detail: "\(limits.archives) other replays are running")
      }
      replays.append(replay)
    }
    return .replaying(id, epoch: epoch, replay.range, before: before)
  }

  // MARK: Next step

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

  /// Records that the new entries up to `seq` were published.
  ///
  /// - Parameter serial: The serial number of the last message.
  mutating func published(through seq: Int, serial: UInt64) {
    let count = seq - published
    published = seq
    bucket.take(count)
    pending.append((serial, count, seq))
  }

  /// Records that the entries of a replay up to `seq` were published.
  ///
  /// - Returns: The replay if it is complete, otherwise `nil`.
  mutating func replayed(_ replay: Replay, through seq: Int, serial: UInt64) -> Replay? {
    bucket.take(seq - replay.next + 1)
    pending.append((serial, seq - replay.next + 1, nil))
    guard let index = replays.firstIndex(of: replay) else { return nil }
    replays[index].next = seq + 1
    // Moves the replay to the end, so that the next page is for the next archive.
    let moved = replays.remove(at: index)
    if moved.isOver { return moved }
    replays.append(moved)
    return nil
  }
}
