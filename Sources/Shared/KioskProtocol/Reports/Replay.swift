import JuiceDomain

/// A request of an archive to a kiosk for missing entries.
package struct ReplayRequest: Hashable, Sendable {
  /// The id of the request; copies of a request have the same id.
  package let id: Request.ID
  /// The epoch of the ledger; see `LedgerEntry`.
  package let epoch: Int
  /// The requested sequence numbers, from 1; never empty.
  package let range: ClosedRange<Int>

  package init(id: Request.ID, epoch: Int, range: ClosedRange<Int>) {
    self.id = id
    self.epoch = epoch
    self.range = range
  }
}

extension ReplayRequest: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    id = try members.required("id", \.id)
    epoch = try members.required("epoch", \.epoch)
    let first = try members.required("from", \.range.lowerBound, where: { $0 >= 1 })
    range = first...(try members.required("to", \.range.upperBound, where: { $0 >= first }))
  }
}

/// The kiosk's response to a `ReplayRequest`.
package enum ReplayResult: Hashable, Sendable {
  /// The kiosk publishes these entries: the first of the requested ones that it has. The archive
  /// requests the rest again.
  ///
  /// - Parameter before: The previous epoch, if these entries begin with the first of their epoch.
  case replaying(Request.ID, epoch: Int, ClosedRange<Int>, before: Int? = nil)
  /// The kiosk has published these entries.
  case done(Request.ID, epoch: Int, ClosedRange<Int>)
  /// The kiosk does not serve the request.
  ///
  /// - Parameters:
  ///   - id: The id of the request, or `nil` if it could not be read.
  ///   - detail: An explanation for a person. A parsed one has at most 200 Unicode scalars, because the
  ///     archive stores it for each gap.
  case rejected(Request.ID?, Reason, detail: String)

  package enum Reason: String, Hashable, Sendable {
    case malformed
    /// The ledger has no entry of that epoch: it was restored from a backup, or is another ledger.
    case unknownEpoch = "unknown_epoch"
    /// The ledger has none of these entries in that epoch.
    case outOfRange = "out_of_range"
    /// The kiosk serves other requests or cannot read the ledger; the archive repeats the request.
    case busy
  }

  package var payload: [UInt8] {
    JSONWriter.object { json in
      switch self {
      case .replaying(let id, let epoch, let range, let before):
        json.members(id, "replaying", epoch, range)
        if let before { json.member("before", before) }
      case .done(let id, let epoch, let range): json.members(id, "done", epoch, range)
      case .rejected(let id, let reason, let detail):
        if let id { json.member("id", id.text) }
        json.member("status", "rejected")
        json.member("reason", reason.rawValue)
        json.member("detail", detail)
      }
    }
  }

  /// Parses a payload, ignoring unknown members.
  ///
  /// - Throws: `JSONError` if the payload is not a result.
  package init(payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    let id = json.text("id").flatMap { Request.ID($0) }
    if json.text("status") == "rejected", let reason = json.text("reason").flatMap(Reason.init) {
      self = .rejected(id, reason, detail: json.text("detail")?.visible(upTo: 200) ?? "")
      return
    }
    guard let id, let epoch = json.integer("epoch"), let first = json.integer("from"),
      let last = json.integer("to"), first <= last
    else { throw JSONError("this is not a replay result") }
    switch json.text("status") {
    case "replaying":
      self = .replaying(id, epoch: epoch, first...last, before: json.integer("before"))
    case "done": self = .done(id, epoch: epoch, first...last)
    default: throw JSONError("this is not a replay result")
    }
  }
}

extension JSONWriter {
  fileprivate mutating func members(
    _ id: Request.ID, _ status: String, _ epoch: Int, _ range: ClosedRange<Int>
  ) {
    member("id", id.text)
    member("status", status)
    member("epoch", epoch)
    member("from", range.lowerBound)
    member("to", range.upperBound)
  }
}
