import CommandLineSupport
import Fleet
import Foundation
import JuiceDomain
import KioskProtocol
import TimeZones

/// The page of the actions of users, for administrators.
struct AuditPage {
  let fleet: KioskFleet
  let names: MenuNames
  let choice: AuditChoice
  /// The chosen records, the latest first.
  let records: [ActivityLog.Record]
  let isCut: Bool
  let localTime: LocalTime
  let context: PageContext

  private var language: Language { context.language }

  func page() -> Page {
    let slice = ListSlice(page: choice.history.page, of: records.count)
    let shown = records.dropFirst(slice.start).prefix(ListSlice.length)
    let heads = [
      language("Time", "시각"), language("User", "사용자"), language("What", "한 일"),
      language("Where", "대상"),
    ]
    let title = language("Who did what", "누가 무엇을 했나")
    let list: HTML =
      shown.isEmpty
      ? "<p class=\"empty\">\(language("Nothing in this time.", "이 기간에는 기록이 없어요."))</p>"
      : """
      <div class="card wide" tabindex="0">\(HTML.table(heads, shown.map(row), id: "audit", style: "review chain log"))</div>
      """
    return Page(
      title: title,
      body: """
        <p class="path"><a href="/users">← \(language("Users", "사용자"))</a></p>
        <h1>\(title)</h1>
        \(choice.history.periods("/users/audit", language, query: choice.query))
        \(choice.form(language))
        \(isCut
          ? language.notice(.hint, "There is more than this page reads: choose a shorter time.", "이 페이지에서 다 읽을 수 없어요. 기간을 줄여 주세요.") : .empty)
        \(list)
        \(slice.links(language) { choice.address("/users/audit", page: $0) })
        <p class="actions">\(language.exports("/users/audit", choice.address("")))</p>
        """, timeZone: localTime.clock.name)
  }

  private func row(_ record: ActivityLog.Record) -> HTML {
    let place: HTML
    var undo: HTML?
    switch record.event {
    case .action(let action):
      undo = self.undo(action)
      place =
        action.subject.map { "\($0)" }
        ?? action.kiosk.map { link(to: $0, action.verb == .changedSettings ? "/settings" : "") }
        ?? .empty
    case .entry(let kiosk, _): place = link(to: kiosk, "/history")
    case .alert, .stopped: place = .empty
    }
    return """
      <tr><th scope="row">\(localTime.html(record.at))</th><td>\(record.user(language))</td><td>\(what(record))\(undo)</td><td>\(place)</td></tr>

      """
  }

  private func what(_ record: ActivityLog.Record) -> HTML {
    switch record.event {
    case .action(let action):
      let words: HTML? = words(action).map { " <span class=\"muted\">\($0)</span>" }
      return "\(action.verb.text(language))\(words)"
    case .entry(let kiosk, let entry):
      return EntryText(kiosk: names.kiosk(kiosk), now: localTime.now, context: context)
        .parts(of: entry).text
    case .alert, .stopped: return .empty
    }
  }

  /// The records of all pages as a table.
  var table: ExportTable {
    let rows = records.map { record -> ExportTable.Row in
      var subject: String?
      if case .action(let action) = record.event { subject = action.subject }
      let name = record.kiosk.map { (fleet[$0] ?? KioskState(id: $0)).title(language) }
      return [
        .day(localTime.date(of: record.at)), .time(record.at), .text(record.user(language)),
        .text(what(record).plainText), .text(record.kiosk?.text ?? ""), .text(name ?? ""),
        .text(subject ?? ""),
      ]
    }
    let cut: [ExportTable.Row] =
      isCut ? [["", "", "", "there is more: choose a shorter time", "", "", ""]] : []
    return ExportTable(
      "actions", ["local_day", "time_utc", "user", "what", "kiosk", "name", "subject"],
      rows: rows + cut)
  }
}

/// The part of the actions that a page shows, read from the query of the page's address.
struct AuditChoice {
  let history: HistoryChoice
  /// A part of the names of users and of the ids or names of kiosks, in lower case; empty for all.
  let user, kiosk: String

  init(_ form: Form) {
    history = HistoryChoice(form)
    user = Self.text(form["user"])
    kiosk = Self.text(form["kiosk"])
  }

  private static func text(_ field: String?) -> String {
    String((field ?? "").prefix(64)).trimmingCharacters(in: .whitespaces).lowercased()
  }

  func includes(
    _ record: ActivityLog.Record, in fleet: KioskFleet, _ language: Language
  ) -> Bool {
    func matches(_ part: String, _ names: [String?]) -> Bool {
      part.isEmpty || names.contains { $0?.lowercased().contains(part) == true }
    }
    var subject: String?
    if case .action(let action) = record.event { subject = action.subject }
    return matches(user, [record.user(language), subject])
      && matches(
        kiosk, [record.kiosk?.text, record.kiosk.flatMap { fleet[$0] }?.title(language)])
  }

  /// The query of the address for the chosen user and kiosk; empty for all.
  var query: String {
    [("user", user), ("kiosk", kiosk)].filter { !$0.1.isEmpty }
      .map { "&\($0.0)=\($0.1.percentEncoded)" }.joined()
  }

  func address(_ path: String, page: Int = 1) -> String {
    history.address(path, kind: nil, page: page) + query
  }

  func form(_ language: Language) -> HTML {
    let all = language("all", "전체")
    return """
      <form class="dates">\(HTML.hidden("days", "\(history.days)"))
      <label>\(language("User", "사용자"))<input name="user" value="\(user)" maxlength="64" placeholder="\(all)"></label>
      <label>\(language("Kiosk", "키오스크"))<input name="kiosk" value="\(kiosk)" maxlength="64" placeholder="\(all)"></label>
      <button>\(language("Show", "보기"))</button>
      </form>
      """
  }
}

extension ActivityLog.Record {
  /// Returns the name of the user, or of the sender of a command.
  fileprivate func user(_ language: Language) -> String {
    switch event {
    case .action(let action): action.user
    case .entry(_, let entry): entry.sender(language)
    case .alert, .stopped: ""
    }
  }
}

extension AuditPage {
  private func link(to kiosk: KioskID, _ page: String) -> HTML {
    guard let state = fleet[kiosk] else { return "\(kiosk)" }
    return "<a href=\"/kiosks/\(kiosk)\(page)\">\(state.title(language))</a>"
  }

  /// Returns the button that brings back the earlier settings, unless the kiosk has other settings since.
  private func undo(_ action: ActivityLog.Action) -> HTML? {
    guard let kiosk = action.kiosk, let change = action.undo?.replaced,
      fleet[kiosk]?.settings?.stored?.id == change
    else { return nil }
    return """
       <form method="post" action="/kiosks/\(kiosk)/settings">\(context.fields(id: .random))\
      \(HTML.hidden("replaces", change.text))
      <button class="plain" name="do" value="undo">\(language("Undo", "되돌리기"))</button></form>
      """
  }

  /// Returns the detail of an action in the user's language, or `nil` for none.
  private func words(_ action: ActivityLog.Action) -> String? {
    guard let english = action.detail else { return nil }
    let detail = language(english, action.koreanDetail ?? english)
    switch action.verb {
    case .addedUser, .changedRole:
      var parts = detail.split(separator: ", ", maxSplits: 1).map(String.init)
      if let role = parts.first.flatMap(User.Role.init(rawValue:)) {
        parts[0] = role.name(language)
      }
      return parts.joined(separator: ", ")
    case .setPassword where detail == "link": return language("with a link", "링크로")
    default: return detail
    }
  }
}

extension ActivityLog.Action.Verb {
  fileprivate func text(_ language: Language) -> String {
    switch self {
    case .loggedIn: language("logged in", "로그인")
    case .failedLogin: language("failed to log in", "로그인 실패")
    case .addedUser: language("added a user", "사용자 추가")
    case .changedRole: language("changed a role", "권한 변경")
    case .changedRegions: language("changed the regions", "지역 변경")
    case .removedUser: language("removed a user", "사용자 삭제")
    case .madeLink: language("made a password link", "비밀번호 링크 생성")
    case .setPassword: language("set the own password", "비밀번호 설정")
    case .endedSession: language("ended a session", "세션 종료")
    case .changedMessages: language("chose messages", "알림 선택")
    case .changedSettings: language("changed the settings", "설정 변경")
    case .plannedRoute: language("planned a route", "방문 경로 계획")
    case .changedRoute: language("changed a route", "방문 경로 변경")
    case .deletedRoute: language("deleted a route", "방문 경로 삭제")
    case .madeWallLink: language("made a link for a screen", "화면 링크 생성")
    case .revokedWallLink: language("revoked the link for a screen", "화면 링크 취소")
    case .madeTabletLink: language("made a link for a tablet", "태블릿 링크 생성")
    case .revokedTabletLink: language("revoked the link for a tablet", "태블릿 링크 취소")
    }
  }
}
