import JuiceDomain
package import KioskProtocol

// The log on the disk: a line of JSON for each record of a day, and the state, which is replaced. The
// state may be older than the last lines.

extension ActivityLog {
  /// A line of a day's file.
  package enum Line: Sendable {
    case record(Record)
    /// The day had more records than are stored.
    case cut

    package var payload: [UInt8] {
      JSONWriter.object { json in
        switch self {
        case .record(let record): record.write(to: &json)
        case .cut: json.member("cut", true)
        }
      }
    }

    /// Reads a line. Returns `nil` if it is none.
    package init?(payload: [UInt8]) {
      guard let json = try? JSON.parse(payload) else { return nil }
      if json["cut"] == .bool(true) {
        self = .cut
      } else if let record = Record(json) {
        self = .record(record)
      } else {
        return nil
      }
    }
  }

  /// The state without the records of the day.
  package var state: [UInt8] {
    JSONWriter.object { json in
      json.member("day", Int(day))
      if let updatedAt { json.member("at", updatedAt.description) }
      json.member("open", open) { $1.write(to: &$0) }
      json.member(
        "known",
        known.flatMap { kiosk, ledgers in ledgers.map { (kiosk: kiosk, ledger: $0) } }
      ) { json, known in
        json.member("kiosk", known.kiosk.text)
        json.member("epoch", known.ledger.key)
        json.member("seq", known.ledger.value)
      }
    }
  }

  /// Reads a state that `state` has written.
  package init(state: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(state)
    guard let day = json.integer("day"), let open = json.elements("open"),
      let known = json.elements("known")
    else { throw JSONError("'day', 'open' or 'known' is missing") }
    self.init()
    begin(day: Int64(day))
    let updatedAt = json.text("at").flatMap(Timestamp.init)
    restore(
      updatedAt: updatedAt,
      open: open.compactMap { json in
        guard let record = Record(json), case .alert(let alert, let details, nil) = record.event
        else { return nil }
        return (alert, Beginning(at: record.at, details: details))
      },
      known: known.compactMap { ledger in
        guard let kiosk = ledger.text("kiosk").flatMap({ KioskID($0) }),
          let epoch = ledger.integer("epoch"), let seq = ledger.integer("seq")
        else { return nil }
        return (kiosk, epoch, seq)
      })
  }
}

extension ActivityLog.Record {
  func write(to json: inout JSONWriter) {
    json.member("since", at.description)
    switch event {
    case .alert(let alert, let details, let until):
      alert.write(to: &json)
      if let text = details.text {
        json.member("detail", text[.english])
        json.member("detail_ko", text[.korean])
      }
      if details.isEarlier { json.member("or_earlier", true) }
      if let time = details.startedAt { json.member("started", time.description) }
      if let time = details.restartedAt { json.member("restarted", time.description) }
      if let until { json.member("until", until.description) }
    case .stopped(let until): json.member("until", until.description)
    case .entry(let kiosk, let entry):
      json.member("kiosk", kiosk.text)
      json.member("entry") { $0.members(entry) }
    case .action(let action):
      json.member("action", action.verb.rawValue)
      json.member("user", action.user)
      if let subject = action.subject { json.member("subject", subject) }
      if let kiosk = action.kiosk { json.member("kiosk", kiosk.text) }
      if let detail = action.detail { json.member("detail", detail) }
      if let detail = action.koreanDetail { json.member("detail_ko", detail) }
      if let undo = action.undo { json.member("undo") { $0.members(undo) } }
    }
  }

  init?(_ json: JSON) {
    guard let at = json.text("since").flatMap(Timestamp.init) else { return nil }
    let until = json.text("until").flatMap(Timestamp.init)
    if let entry = json["entry"] {
      guard let kiosk = json.text("kiosk").flatMap({ KioskID($0) }),
        let entry = try? LedgerEntry(entry)
      else { return nil }
      self.init(at: at, .entry(kiosk, entry))
    } else if json["action"] != nil {
      guard let verb = json.text("action").flatMap(ActivityLog.Action.Verb.init(rawValue:)),
        let user = json.text("user")
      else { return nil }
      var action = ActivityLog.Action(
        user, verb, subject: json.text("subject"),
        kiosk: json.text("kiosk").flatMap { KioskID($0) }, detail: json.text("detail"))
      action.koreanDetail = json.text("detail_ko")
      if let undo = json["undo"].flatMap({ try? SettingsCommand($0) }) { action.set(undo: undo) }
      self.init(at: at, .action(action))
    } else if json["alert"] != nil {
      guard let alert = Alert(json) else { return nil }
      let text = json.text("detail").map {
        LocalizedName(english: $0, korean: json.text("detail_ko"), fallback: "")
      }
      var details = ActivityLog.Details(
        text: text, startedAt: json.text("started").flatMap(Timestamp.init),
        restartedAt: json.text("restarted").flatMap(Timestamp.init))
      details.isEarlier = json["or_earlier"] == .bool(true)
      self.init(at: at, .alert(alert, details, until: until))
    } else {
      guard let until else { return nil }
      self.init(at: at, .stopped(until: until))
    }
  }
}
