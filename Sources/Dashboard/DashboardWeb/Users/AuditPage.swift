import Fleet
import Foundation
import JuiceDomain
import KioskProtocol
import TimeZones

/// The page of the actions of users, for administrators.
struct AuditPage {
  let fleet: KioskFleet
  let choice: HistoryChoice
  let records: [ActivityLog.Record]
  let isCut: Bool
  let localTime: LocalTime
  let context: PageContext

  private var language: Language { context.language }

  func page() -> Page {
    let slice = ListSlice(page: choice.page, of: records.count)
    let shown = records.dropFirst(slice.start).prefix(ListSlice.length)
    let heads = [
      language("Time", "시각"), language("User", "사용자"), language("What", "한 일"),
      language("Where", "대상"),
    ]
    let title = language("Who did what", "누가 무엇을 했나")
    return Page(
      title: title,
      body: """
        <p class="path"><a href="/users">← \(language("Users", "사용자"))</a></p>
        <h1>\(title)</h1>
        \(choice.periods("/users/audit", language))
        \(isCut
          ? language.notice(.hint, "There is more than this page reads: choose a shorter time.", "이 페이지에서 다 읽을 수 없어요. 기간을 줄여 주세요.") : .empty)
        <div class="card wide" tabindex="0">\(HTML.table(heads, shown.map(row), id: "audit", style: "review chain log"))</div>
        \(slice.links(language) { choice.address("/users/audit", kind: nil, page: $0) })
        """, timeZone: localTime.clock.name)
  }

  private func row(_ record: ActivityLog.Record) -> HTML {
    var (who, what, place) = ("", HTML.empty, HTML.empty)
    switch record.event {
    case .action(let action):
      who = action.user
      what =
        "\(action.verb.text(language))\(words(action).map { " <span class=\"muted\">\($0)</span>" as HTML })\(undo(action))"
      place =
        action.subject.map { "\($0)" }
        ?? action.kiosk.map { link(to: $0, action.verb == .changedSettings ? "/settings" : "") }
        ?? .empty
    case .entry(let kiosk, let entry):
      let state = fleet[kiosk] ?? KioskState(id: kiosk)
      who = entry.sender(language)
      what =
        KioskPage(
          kiosk: state, salesReport: nil, connectionError: nil, now: localTime.now, context: context
        ).parts(of: entry).text
      place = link(to: kiosk, "/history")
    case .alert, .stopped: break
    }
    return """
      <tr><th scope="row">\(localTime.html(record.at))</th><td>\(who)</td><td>\(what)</td><td>\(place)</td></tr>

      """
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
