/// Finds the entries of recent requests with an id, without reading the disk, because nearly every
/// request is new.
///
/// The index contains hashes only, so the caller must compare the entries. It is in memory, because
/// an index on the disk, in the order of ids, would write a page for nearly every order.
struct RequestIndex {
  /// The number of latest entries whose ids are known, regardless of their age.
  static let kept = 100_000

  /// The number of buckets, a power of two. Even a full index has at most one entry in most
  /// buckets.
  private static let buckets = 1 << 17

  /// An element of `places`: the entry at the index `seq % kept`, until a later entry replaces it.
  private struct Place {
    var seq = 0
    var hash: UInt32 = 0
    /// The place of the next older entry in the same bucket, or -1.
    var older: Int32 = -1
  }

  private var places: [Place] = []
  /// The place of the last entry added to each bucket, or -1. An entry of another bucket may have replaced that entry.
  private var newest: [Int32] = []

  /// Returns the hash of a request's source and id, both in UTF-8.
  static func hash(_ source: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) -> UInt32 {
    var hasher = Hasher()
    hasher.combine(bytes: source)
    hasher.combine(bytes: id)
    return UInt32(truncatingIfNeeded: hasher.finalize())
  }

  /// Returns the entries with a hash, newest first.
  func entries(_ hash: UInt32) -> [Int] {
    if places.isEmpty { return [] }
    var entries: [Int] = []
    var (next, newer) = (Int(newest[Self.bucket(hash)]), Int.max)
    // A place with a newer entry than the place before ends the list: the replaced entry, and the
    // entries that followed it, are older than the last `kept` entries.
    while next >= 0, places[next].seq < newer {
      let place = places[next]
      if place.hash == hash { entries.append(place.seq) }
      (next, newer) = (Int(place.older), place.seq)
    }
    return entries
  }

  /// Adds an entry with a greater number than all earlier ones.
  mutating func insert(_ seq: Int, _ hash: UInt32) {
    if newest.isEmpty { newest = Array(repeating: -1, count: Self.buckets) }
    let (place, bucket) = (seq % Self.kept, Self.bucket(hash))
    while places.count <= place { places.append(Place()) }
    places[place] = Place(seq: seq, hash: hash, older: newest[bucket])
    newest[bucket] = Int32(place)
  }

  private static func bucket(_ hash: UInt32) -> Int { Int(hash) & (buckets - 1) }
}
