import Fleet
import JuiceDomain
import KioskProtocol
import MessageBroker

/// Notices that several pages share.
enum CommonNotices {
  /// Returns a notice with the reason why the broker is not connected; empty if it is connected.
  static func broker(_ connectionError: BrokerError?, _ language: Language) -> LivePart {
    let notice = connectionError.map { connectionError in
      HTML.notice(
        .bad,
        language("This page may be out of date:", "오래된 정보일 수 있어요:")
          + "\n\(connectionError.text(language))")
    }
    return LivePart("broker", "\(notice)")
  }

  /// Returns a notice that the file of users cannot be read; empty if it can be read. Only
  /// operators see it.
  static func users(_ problem: String?, _ language: Language) -> LivePart {
    let notice = problem.map { problem in
      HTML.notice(
        .bad,
        language(
          "The file of users cannot be read. Who could log in before still can:",
          "사용자 파일을 읽을 수 없어요. 전에 등록된 사용자는 계속 로그인할 수 있어요:") + "\n\(problem)")
    }
    return LivePart("users", "\(notice)")
  }

  /// Returns a notice that kiosks are missing because the archive has not answered; otherwise empty.
  static func lackingKiosks(_ areLacking: Bool, _ language: Language) -> LivePart {
    let notice = language.notice(
      .warn, "Kiosks whose region only the archive has are not shown now.",
      "지역이 아카이브에만 있는 키오스크는 지금 표시되지 않아요.")
    return LivePart("lacking-kiosks", "\(areLacking ? notice : .empty)")
  }

  /// Returns the fields for the dates on packages below a heading that opens them.
  static func bestBefore(_ fields: [HTML], isOpen: Bool, _ language: Language) -> HTML {
    """
    <details\(isOpen ? " open" : .empty as HTML)><summary>\(language("Best before", "유통기한"))</summary>
    <p class="muted">\(language(
      "Only if the package has a date: the menu decides otherwise. It is sold until the end of that day, or as long as the menu permits if that ends earlier. Fruit that is already in the kiosk keeps its own date.",
      "포장에 날짜가 있을 때만 적으세요. 없으면 메뉴의 설정을 따라요. 그날이 끝날 때까지 팔고, 메뉴의 판매 가능 시간이 먼저 끝나면 그때까지만 팔아요. 이미 들어 있는 과일의 날짜는 그대로예요."))</p>
    <div class="counts">\(fields)</div></details>
    """
  }

  /// Returns a line with the time of a kiosk's numbers, which may have changed since then, or `nil`
  /// if the kiosk is online or the time is unknown.
  static func age(
    _ kiosk: KioskState, _ time: Timestamp?, _ now: Timestamp, _ language: Language
  ) -> HTML? {
    guard !kiosk.isOnline, let time else { return nil }
    let localTime = LocalTime(kiosk.timeZone, now: now, language)
    return "<p class=\"muted\">\(language("As of", "기준 시각:")) \(localTime.html(time))</p>"
  }

  static func offline(_ language: Language) -> HTML {
    language.notice(
      .hint, "This kiosk is offline: it cannot answer until it reconnects.",
      "이 키오스크는 오프라인이라 다시 연결될 때까지 응답할 수 없어요.")
  }

  /// Returns the notice for a form with values that were entered before and not sent.
  static func notSentYet(_ language: Language) -> HTML {
    language.notice(
      .warn, "Your numbers are still here. Nothing has been sent: check them, and continue.",
      "입력한 수량이 그대로 있어요. 아직 보내지 않았으니 확인하고 계속해 주세요.")
  }

  /// Returns the notice for a command that was sent and not answered.
  ///
  /// - Parameter again: The form that sends the command again, if the page has no other one.
  static func noAnswer(_ language: Language, again: HTML? = nil) -> HTML {
    .notice(
      .warn,
      html: """
        <strong data-unanswered>\(language("No answer yet.", "아직 응답이 없어요."))</strong>
        \(language(
          "The kiosk may or may not have applied it. Sending it again is safe: the kiosk applies it only once.",
          "처리됐는지 아직 알 수 없어요. 다시 보내도 한 번만 처리되니 안심하세요."))
        \(again)
        """, tag: "div")
  }

  /// Returns the notice for a command that the kiosk has rejected.
  static func rejected(_ reason: String, _ detail: String, _ language: Language) -> HTML {
    .notice(
      .bad,
      html: """
        <strong>\(language("Nothing was changed:", "아무것도 바뀌지 않았어요:"))</strong> \(reason).
        <span class="muted">\(detail)</span>
        """)
  }

  /// Returns the notice for a restock that the kiosk has rejected because its stock differs from
  /// the expected one.
  ///
  /// - Parameter advice: The next step for the user.
  static func conflict(
    expected: FruitAmounts, stock: FruitAmounts, advice: String, _ language: Language,
    name: (Fruit.ID) -> String
  ) -> HTML {
    let moved: [HTML] = expected.compactMap { fruit, before in
      guard let now = stock[fruit], now != before else { return nil }
      return "<li>\(name(fruit)): \(before) → <strong>\(now)</strong></li>"
    }
    return .notice(
      .warn,
      html: """
        <strong>\(language(
          "The stock has changed since you looked. Nothing was changed.",
          "그사이 재고가 바뀌어서 아무것도 변경하지 않았어요."))</strong>
        <ul>\(moved)</ul>
        \(advice)
        """, tag: "div")
  }
}
