import Fleet
package import JuiceDomain
package import KioskMessages

/// Puts into words which troubles begin and which are over.
package struct NoticeWords: Sendable {
  private let language: Language
  /// The address of the dashboard, without a slash at the end.
  private let link: String

  /// So many troubles are told in one message; the others are counted.
  private static let limit = 40
  /// In Unicode scalars; what kiosks say of themselves may be long.
  private static let maximumName = 80

  package init(_ language: Language, link: String) { (self.language, self.link) = (language, link) }

  /// - Parameter news: one at least.
  func notice(of news: [TroubleWatch.News], in fleet: KioskFleet, at now: Timestamp) -> Notice {
    let paragraphs = news.prefix(Self.limit).map { news in
      "\(headline(of: news, in: fleet))\(length(of: news, at: now))\n\(address(of: news.trouble))"
    }
    let first = news.first.map { headline(of: $0, in: fleet) } ?? ""
    let others = news.count - 1
    let rest = news.count - paragraphs.count
    let more = rest > 0 ? [language("and \(rest) more", "그 외 \(rest)건") + "\n\(link)/"] : []
    return Notice(
      at: now,
      subject: others > 0
        ? language("\(first) (and \(others) more)", "\(first) 외 \(others)건") : first,
      text: (paragraphs + more).joined(separator: "\n\n"))
  }

  package func test(at now: Timestamp) -> Notice {
    let text = language("This is a test of the dashboard.", "대시보드에서 보낸 시험 메시지예요.")
    return Notice(at: now, subject: language("Test", "시험"), text: "\(text)\n\(link)/")
  }

  /// A message as it is sent: one that comes late says how old it is.
  func atLast(_ notice: Notice, at now: Timestamp) -> Notice {
    let minutes = notice.at.minutes(until: now)
    guard minutes >= 5 else { return notice }
    let length = language.length(ofMinutes: minutes)
    var late = notice
    late.text =
      language("This message is \(length) old.", "\(length) 전 메시지예요.") + "\n\n\(notice.text)"
    return late
  }

  private func headline(of news: TroubleWatch.News, in fleet: KioskFleet) -> String {
    guard let kiosk = news.trouble.kiosk else {
      return news.isOver
        ? language("The broker is there again", "브로커에 다시 연결됐어요")
        : language("The dashboard cannot reach its broker", "대시보드가 브로커에 연결하지 못해요")
    }
    let state = fleet[kiosk]
    return "\(shown(state?.title(language) ?? kiosk.text)): \(words(for: news, at: state))"
  }

  private func words(for news: TroubleWatch.News, at kiosk: KioskState?) -> String {
    switch (news.trouble, news.isOver) {
    case (.noBroker, _): return ""
    case (.offline, false): return language("offline", "오프라인")
    case (.offline, true): return language("online again", "다시 온라인")
    case (.machine(_, let machine), false):
      let report = kiosk?.machines[machine]
      let reason = report?.reason.map { " (\(shown($0)))" } ?? ""
      let state = (report?.state ?? .unknown).words(language)
      return language("machine \(machine): \(state)", "기계 \(machine): \(state)") + reason
    case (.machine(_, let machine), true):
      return language("machine \(machine) works again", "기계 \(machine) 다시 작동")
    case (.job(_, _, let ticket), false):
      return language("somebody has to decide about ticket \(ticket)", "\(ticket)번 주문 확인 필요")
    case (.job(_, _, let ticket), true):
      return language("ticket \(ticket) is decided", "\(ticket)번 주문 확인 완료")
    case (.out(_, let fruit), let isOver):
      let name = kiosk?.menu?.menu.fruits.first { $0.id == fruit }?.name[language]
      let fruit = shown(name ?? fruit.text)
      return isOver
        ? language("\(fruit) is there again", "\(fruit) 다시 있음")
        : language("\(fruit) is out", "\(fruit) 품절")
    }
  }

  /// How long the trouble has lasted.
  private func length(of news: TroubleWatch.News, at now: Timestamp) -> String {
    let minutes = news.since.minutes(until: now)
    guard minutes > 0 else { return "" }
    let length = language.length(ofMinutes: minutes)
    return news.isOver
      ? language(", after \(length)", ", \(length) 만에")
      : language(", for \(length)", ", \(length)째")
  }

  private func address(of trouble: Trouble) -> String {
    guard let kiosk = trouble.kiosk else { return "\(link)/" }
    return if case .out(_, let fruit) = trouble {
      "\(link)/kiosks/\(kiosk)?fruit=\(fruit)"
    } else {
      "\(link)/kiosks/\(kiosk)"
    }
  }

  /// In one line, without characters that steer a terminal or the direction of a text.
  private func shown(_ text: String) -> String {
    let shown = text.unicodeScalars.prefix(Self.maximumName).map {
      scalar -> Unicode.Scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator: " "
      default: scalar
      }
    }
    return String(String.UnicodeScalarView(shown))
  }
}

extension Timestamp {
  fileprivate func minutes(until later: Timestamp) -> Int {
    Int(clamping: later.since(self).components.seconds / 60)
  }
}
