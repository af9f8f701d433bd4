import Fleet
import JuiceDomain
import KioskProtocol

/// A user's choice of the messages to get by mail.
struct MessageChoice: Hashable, Sendable {
  typealias Kind = Problem.Group

  /// Times of the day, such as `22:00` and `07:00`, between which no message is sent.
  struct QuietHours: Hashable, Sendable {
    let from: String
    let to: String

    /// Creates quiet hours, or returns `nil` unless both are different times such as `07:00`.
    init?(from: String, to: String) {
      func isTime(_ text: String) -> Bool {
        text.wholeMatch(of: /([01][0-9]|2[0-3]):[0-5][0-9]/) != nil
      }
      guard isTime(from), isTime(to), from != to else { return nil }
      (self.from, self.to) = (from, to)
    }

    /// Returns whether they contain a time such as `23:15`. They may contain midnight.
    func contains(_ time: String) -> Bool {
      from < to ? (from..<to).contains(time) : time >= from || time < to
    }
  }

  var address: String
  var kinds: Set<Kind>
  /// The kiosks, or `nil` for all that the user may see.
  var kiosks: Set<KioskID>?
  var quietHours: QuietHours?
  var language: Language
  /// The IANA name of the time zone of `quietHours` while no kiosk has published one, or `nil` if none
  /// had when the user chose.
  var timeZone: String?

  /// Returns whether a time is in the quiet hours.
  ///
  /// - Parameter fleet: The chosen kiosks that the user may see.
  func isQuiet(at time: Timestamp, in fleet: KioskFleet) -> Bool {
    // guard: nothing is sent in quiet hours
    guard let quietHours = self.quietHours else { return false }
    let localTime = LocalTime(fleet.timeZone ?? timeZone, now: time, .english)
    return quietHours.contains(String(localTime.field(time).suffix(5)))
  }
}

// The choices as JSON, for the disk.
extension MessageChoice {
  func write(to json: inout JSONWriter) {
    json.member("address", address)
    json.member("kinds", kinds.map(\.rawValue).sorted())
    if let kiosks { json.member("kiosks", kiosks.map(\.text).sorted()) }
    if let quietHours { json.member("quiet", [quietHours.from, quietHours.to]) }
    json.member("language", language.rawValue)
    if let timeZone { json.member("time_zone", timeZone) }
  }

  init?(_ json: JSON) {
    func texts(_ name: String) -> [String]? {
      json.elements(name)?.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }
    guard let address = json.text("address"), let kinds = texts("kinds"),
      let language = json.text("language").flatMap(Language.init(rawValue:))
    else { return nil }
    let quiet = texts("quiet") ?? []
    self.init(
      address: address, kinds: Set(kinds.compactMap(Kind.init(rawValue:))),
      kiosks: texts("kiosks").map { Set($0.compactMap { KioskID($0) }) },
      quietHours: quiet.count == 2 ? QuietHours(from: quiet[0], to: quiet[1]) : nil,
      language: language, timeZone: json.text("time_zone"))
  }
}
