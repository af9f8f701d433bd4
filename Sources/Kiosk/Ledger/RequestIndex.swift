/// Where to look for the requests with an id that the ledger has answered last: found without the
/// disk, since nearly every request is new.
///
/// It knows hashes only, so what it tells has to be compared. In memory, because on the disk it
/// would be an index in the order of ids: a page to write for nearly each order.
struct RequestIndex {
  /// The ids of so many entries are known: of the last ones, however old they are.
  static let kept = 100_000

  /// A power of two; with all kept, a bucket has one entry or none, mostly.
  private static let buckets = 1 << 17

  /// An entry, in the place of its number until another one comes there.
  private struct Place {
    var seq = 0
    var hash: UInt32 = 0
    /// The place of the next older entry in the same bucket, or -1.
    var older: Int32 = -1
  }

  private var places: [Place] = []
  /// The place of the newest entry in each bucket, or -1.
  private var newest: [Int32] = []

  /// Of a request's source and id, in UTF-8.
  static func hash(_ source: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) -> UInt32 {
    var hasher = Hasher()
    hasher.combine(bytes: source)
    hasher.combine(bytes: id)
    return UInt32(truncatingIfNeeded: hasher.finalize())
  }

  /// The entries with a hash, the newest first.
  func entries(_ hash: UInt32) -> [Int] {
    if places.isEmpty { return [] }
    var entries: [Int] = []
    var (next, newer) = (Int(newest[Self.bucket(hash)]), Int.max)
    // A place that was given to a newer entry ends the list: what would follow is still older, and
    // need not be kept.
    while next >= 0, places[next].seq < newer {
      let place = places[next]
      if place.hash == hash { entries.append(place.seq) }
      (next, newer) = (Int(place.older), place.seq)
    }
    return entries
  }

  /// Takes up an entry with a greater number than all before.
  mutating func insert(_ seq: Int, _ hash: UInt32) {
    if newest.isEmpty { newest = Array(repeating: -1, count: Self.buckets) }
    let (place, bucket) = (seq % Self.kept, Self.bucket(hash))
    while places.count <= place { places.append(Place()) }
    places[place] = Place(seq: seq, hash: hash, older: newest[bucket])
    newest[bucket] = Int32(place)
  }

  private static func bucket(_ hash: UInt32) -> Int { Int(hash) & (buckets - 1) }
}
