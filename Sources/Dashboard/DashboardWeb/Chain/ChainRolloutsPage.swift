import JuiceDomain
import KioskProtocol

/// The page of the menus that the chain has sent to its kiosks.
struct ChainRolloutsPage {
  let layout: ChainLayout
  /// The rows of `ChainQuery.rollouts()`.
  let rollouts: [ChainQuery.Row]
  /// The rows of `ChainQuery.failures()`.
  let failures: [ChainQuery.Row]

  private var language: Language { layout.language }

  func page() -> Page {
    guard !rollouts.isEmpty else {
      let empty = language(
        "No menu has been sent yet. Run: juice-archive fleet push FILE",
        "아직 보낸 메뉴가 없어요. 다음 명령을 실행해 주세요: juice-archive fleet push FILE")
      return layout.page("<p class=\"empty\">\(empty)</p>")
    }
    let rows: [HTML] = rollouts.map { row in
      let counts: [HTML] = (5...9).map { column in
        let isBad = (6...7).contains(column) && row.number(column) > 0
        return isBad
          ? "<td><b class=\"number bad\">\(row.number(column))</b></td>"
          : "<td>\(row.number(column))</td>"
      }
      let began: HTML? = row.time(3).map { layout.localTime.html($0) }
      return """
        <tr><th scope="row">\(row[0])</th><td>\(state(row[1]))</td><td>\(row[2])</td><td>\(began)</td>\(counts)</tr>

        """
    }
    let failed: [HTML] = failures.compactMap { row in
      guard let id = row.kiosk(0) else { return nil }
      return """
        <tr>\(layout.name(id, row.text(1), place: row.text(2)))<td>\(layout.region(row[3]))</td>
        <td>\(row.text(4) ?? language("silent", "응답 없음"))</td></tr>

        """
    }
    let heads = [
      language("Menu", "메뉴"), language("State", "상태"), language("Region", "지역"),
      language("Began", "시작"), language("Taken", "적용"), language("Refused", "거절"),
      language("Silent", "응답 없음"), language("Waiting", "대기"), language("Unsent", "보내기 전"),
    ]
    let failedHeads = [
      language("Kiosk", "키오스크"), language("Region", "지역"), language("Reason", "이유"),
    ]
    return layout.page(
      """
      \(layout.table(heads, rows))
      <h2>\(language("Where the latest one failed", "마지막 메뉴가 실패한 곳"))</h2>
      \(failed.isEmpty ? "<p class=\"empty\">\(language("None.", "없어요."))</p>" : layout.table(failedHeads, failed))
      """)
  }

  private func state(_ name: String) -> String {
    switch name {
    case "running": language("running", "진행 중")
    case "paused": language("paused", "잠시 멈춤")
    case "stopped": language("stopped: too many failed", "멈춤: 실패가 너무 많음")
    case "aborted": language("aborted", "중단")
    default: language("done", "끝")
    }
  }
}
