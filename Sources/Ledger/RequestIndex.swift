import KioskMessages

/// Where to look for the requests with an id that the ledger has answered last: found without the
/// disk, since nearly every request is new.
///
/// It knows hashes only, so what it tells has to be compared. In memory, because on the disk it
/// would be an index in the order of ids: a page to write for nearly each order.
struct RequestIndex {
  /// The newest requests are kept whatever their age, so that a clock that jumps forgets nothing.
  static let kept = 10_000
  /// No more than this are kept, whatever their age.
  static let atMost = 100_000
  /// Between the two, a request is kept for a day; in milliseconds.
  static let age: Int64 = 86_400_000

  /// The newest entry under each hash.
  private var newest: [Int: Int] = [:]
  /// Older ones under the same hash.
  private var older: [Int: [Int]] = [:]
  /// What is to be forgotten, each in the place of its number: when another one comes there.
  private var places: [(seq: Int, hash: Int)] = []
  private let hash: (Source, Request.ID) -> Int

  init(hash: @escaping (Source, Request.ID) -> Int = Self.hash) { self.hash = hash }

  private static func hash(_ source: Source, _ id: Request.ID) -> Int {
    var hasher = Hasher()
    hasher.combine(source)
    hasher.combine(id)
    return hasher.finalize()
  }

  /// The entries that may be the request's, the newest first.
  func entries(of id: Request.ID, from source: Source) -> [Int] {
    if newest.isEmpty { return [] }
    let hash = hash(source, id)
    guard let first = newest[hash] else { return [] }
    return [first] + (older[hash] ?? []).reversed()
  }

  /// Takes up an entry with a greater number than all before.
  mutating func insert(_ seq: Int, for id: Request.ID, from source: Source) {
    let hash = hash(source, id)
    let place = seq % Self.atMost
    while places.count <= place { places.append((0, 0)) }
    if places[place].seq > 0 { forget(places[place]) }
    places[place] = (seq, hash)
    if let other = newest.updateValue(seq, forKey: hash) { older[hash, default: []].append(other) }
  }

  private mutating func forget(_ entry: (seq: Int, hash: Int)) {
    if newest[entry.hash] == entry.seq {
      newest[entry.hash] = nil
    } else {
      older[entry.hash]?.removeAll { $0 == entry.seq }
      if older[entry.hash]?.isEmpty == true { older[entry.hash] = nil }
    }
  }
}
