import Fleet
import Foundation
package import JuiceDomain
package import KioskProtocol

/// Writes the text of messages about alerts that begin or are resolved.
package struct NotificationFormatter: Sendable {
  private let language: Language
  /// The URL of the dashboard, without a trailing slash.
  private let baseURL: String

  /// Maximum length of a text that a receiver accepts.
  package enum MaximumLength: Sendable {
    /// The length in bytes of UTF-8. ntfy sends a text of more than 4,096 bytes as an attachment.
    case bytes(Int)
    /// The length in UTF-16 code units, which are never fewer than the characters that a receiver
    /// counts. Discord accepts 2,000, Telegram 4,096, Slack more.
    case characters(Int)

    fileprivate func permits(_ text: String) -> Bool {
      switch self {
      case .bytes(let limit): text.utf8.count <= limit
      case .characters(let limit): text.utf16.count <= limit
      }
    }
  }

  /// Maximum number of alerts listed in one message. The message counts further alerts.
  private static let limit = 40
  /// Maximum length of a name or a reason from a kiosk, in Unicode scalars.
  private static let maximumName = 80

  package init(_ language: Language, baseURL: String) {
    (self.language, self.baseURL) = (language, baseURL)
  }

  /// Returns one message about all given transitions.
  ///
  /// - Parameter transitions: At least one transition.
  func notification(
    of transitions: [AlertEvaluator.Transition], in fleet: KioskFleet, at now: Timestamp
  ) -> Notification {
    let paragraphs = transitions.prefix(Self.limit).map { transition in
      "\(headline(of: transition, in: fleet))\(length(of: transition, at: now))\n\(address(of: transition.alert))"
    }
    let first = transitions.first.map { headline(of: $0, in: fleet) } ?? ""
    let others = transitions.count - 1
    let rest = transitions.count - paragraphs.count
    let more = rest > 0 ? [self.more(rest)] : []
    return Notification(
      at: now,
      subject: others > 0
        ? language("\(first) (and \(others) more)", "\(first) 외 \(others)건") : first,
      text: (paragraphs + more).joined(separator: Self.separator), alerts: transitions.count)
  }

  /// Returns a test message.
  package func test(at now: Timestamp) -> Notification {
    let text = language(
      "This is a test message from the dashboard: alerts of the kiosks arrive here.",
      "대시보드에서 보낸 테스트 메시지예요. 키오스크 알림이 여기로 와요.")
    return Notification(
      at: now, subject: language("Test", "테스트"), text: "\(text)\n\(baseURL)/", alerts: 1)
  }

  /// Returns the message with as many alerts as the receiver accepts. If the message omits alerts,
  /// its last paragraph contains their number and a link.
  package func fitting(_ notification: Notification, in length: MaximumLength?) -> Notification {
    guard let length, !length.permits(notification.text) else { return notification }
    var paragraphs = notification.text.components(separatedBy: Self.separator)
    // Remove the paragraph with the number of alerts that are not listed.
    if notification.alerts > Self.limit { paragraphs.removeLast() }
    // A late message begins with a paragraph about its age.
    let lead = max(0, paragraphs.count - min(notification.alerts, Self.limit))
    var short = notification
    while paragraphs.count > lead {
      paragraphs.removeLast()
      let hidden = notification.alerts - (paragraphs.count - lead)
      short.text = (paragraphs + [more(hidden)]).joined(separator: Self.separator)
      if length.permits(short.text) { break }
    }
    return short
  }

  private func more(_ count: Int) -> String {
    language("and \(count) more", "그 외 \(count)건") + "\n\(baseURL)/"
  }

  private static let separator = "\n\n"

  /// Returns the message, which begins with its age if it is at least five minutes old.
  func markedAsLate(_ notification: Notification, age: Duration) -> Notification {
    let minutes = Int(clamping: age.components.seconds / 60)
    guard minutes >= 5 else { return notification }
    let length = language.length(ofMinutes: minutes)
    var late = notification
    late.text =
      language("This message is \(length) old.", "\(length) 전 메시지예요.") + "\n\n\(notification.text)"
    return late
  }

  private func headline(of transition: AlertEvaluator.Transition, in fleet: KioskFleet) -> String {
    guard let kiosk = transition.alert.kiosk else {
      return transition.isResolved
        ? language("The broker is reachable again", "브로커에 다시 연결됐어요")
        : language("The dashboard cannot reach its broker", "대시보드가 브로커에 연결하지 못해요")
    }
    let state = fleet[kiosk]
    return
      "\((state?.title(language) ?? kiosk.text).visible(upTo: Self.maximumName)): \(summary(for: transition, at: state))"
  }

  private func summary(for transition: AlertEvaluator.Transition, at kiosk: KioskState?) -> String {
    if transition.isResolved, let device = kiosk?.missingDevice(of: transition.alert) {
      return language("\(device) was removed", "\(device) 제거됨")
    }
    switch (transition.alert, transition.isResolved) {
    case (.noBroker, _): return ""
    case (.offline, false): return language("offline", "오프라인")
    case (.offline, true): return language("online again", "다시 온라인")
    case (.noSales, false), (.unsold, false):
      guard let kiosk, let text = kiosk.lostText(language) else {
        return language("juices not for sale", "판매 불가 쥬스 있음")
      }
      return "\(text): \(kiosk.lostReasons(language).visible(upTo: 4 * Self.maximumName))"
    case (.noSales, true): return language("sells juices again", "다시 판매 중")
    case (.unsold, true):
      return kiosk?.lostJuices.isEmpty == false
        ? language("the rest is only missing fruit", "이제 과일만 모자람")
        : language("all juices are for sale again", "모든 쥬스 다시 판매 중")
    case (.machine(_, let machine), false):
      let report = kiosk?.machines[machine]
      let reason = report?.reason.map { " (\($0.visible(upTo: Self.maximumName)))" } ?? ""
      let out = (report?.out ?? []).map { kiosk?.name(of: $0, language) ?? $0.text }
        .joined(separator: ", ").visible(upTo: Self.maximumName)
      let state =
        report?.state.isProblem == false && !out.isEmpty
        ? language("no \(out)", "\(out) 없음")
        : report?.problem(language) ?? (report?.state ?? .unknown).text(language)
      return language("machine \(machine): \(state)", "기계 \(machine): \(state)") + reason
    case (.machine(_, let machine), true):
      return language("machine \(machine) works again", "기계 \(machine) 다시 작동")
    case (.job(_, _, let ticket), false):
      return language("ticket \(ticket) needs a decision", "\(ticket)번 주문 확인 필요")
    case (.job(_, _, let ticket), true):
      return language("ticket \(ticket) is decided", "\(ticket)번 주문 확인 완료")
    case (.payment(_, let device), false):
      let reason = kiosk?.payments[device]?.reason
        .map { " (\($0.visible(upTo: Self.maximumName)))" }
      return language("payment \(device): out of order", "결제 \(device): 고장") + (reason ?? "")
    case (.payment(_, let device), true):
      return language("payment \(device) works again", "결제 \(device) 다시 작동")
    case (.charge(_, let charge, let ticket), let isResolved):
      let name =
        ticket.map { language("payment of ticket \($0)", "\($0)번 결제") }
        ?? language("charge \(charge)", "결제 \(charge)")
      return isResolved
        ? language("\(name) is decided", "\(name) 확인 완료")
        : language("\(name) needs a decision", "\(name) 확인 필요")
    case (.difference(_, let device), false):
      let amount = kiosk?.dayDifferences.first { $0.device == device }
        .map { " \(Money.text($0.units, $0.currency, language))" }
      return language("end of day of \(device) differs", "\(device) 마감 금액 차이") + (amount ?? "")
    case (.difference(_, let device), true):
      if case .total(_, _, nil) = kiosk?.lastTotals[device]?.outcome {
        return language("end of day of \(device) was not compared", "\(device) 마감 금액 비교 안 함")
      }
      return language("end of day of \(device) is right", "\(device) 마감 금액 일치")
    case (.sensor(_, let sensor), let isResolved):
      let state = kiosk?.sensors[sensor].map { "\($0.text(language)), \($0.valueText)" } ?? ""
      return isResolved
        ? language("sensor \(sensor) is fine again", "센서 \(sensor) 정상")
        : language("sensor \(sensor): \(state)", "센서 \(sensor): \(state)")
    case (.expires(_, let id), let isResolved):
      let fruit = (kiosk?.name(of: id, language) ?? id.text).visible(upTo: Self.maximumName)
      if isResolved {
        return kiosk?.expired[id] == nil
          ? language("\(fruit): nothing expires soon", "\(fruit): 곧 만료될 것 없음")
          : language("\(fruit) has expired", "\(fruit) 만료됨")
      }
      let time =
        kiosk?.stock?.expires[id].map {
          LocalTime(kiosk?.timeZone, now: $0, language).text($0)
        } ?? ""
      return language("\(fruit) expires \(time)", "\(fruit) \(time) 만료 예정")
    case (.expired(_, let id), let isResolved):
      let fruit = (kiosk?.name(of: id, language) ?? id.text).visible(upTo: Self.maximumName)
      let amount = kiosk?.expired[id] ?? 0
      return isResolved
        ? language("expired \(fruit) is taken out", "만료된 \(fruit) 꺼냄")
        : language("\(amount) \(fruit) expired: take it out", "\(fruit) \(amount)개 만료: 꺼내야 함")
    case (.out(_, let id), let isResolved):
      let fruit = (kiosk?.name(of: id, language) ?? id.text).visible(upTo: Self.maximumName)
      if isResolved { return language("\(fruit) is back in stock", "\(fruit) 다시 채워짐") }
      let juices = kiosk.map { unsold(at: $0, for: id) } ?? ""
      let isOut = kiosk?.stock?.fruits[id] ?? 0 == 0
      return
        (isOut
        ? language("\(fruit) is out", "\(fruit) 품절")
        : language("there is too little \(fruit)", "\(fruit) 모자람")) + juices
    }
  }

  /// Returns a phrase with the juices that cannot be sold because `fruit` is short; may be empty.
  private func unsold(at kiosk: KioskState, for fruit: Fruit.ID) -> String {
    let names = kiosk.unavailableJuices.compactMap { juice, obstacle -> String? in
      guard case .fruit(let fruits) = obstacle, fruits.contains(fruit) else { return nil }
      return juice.name[language].visible(upTo: Self.maximumName)
    }
    guard !names.isEmpty else { return "" }
    let shown = names.prefix(3).joined(separator: ", ")
    let more = names.count - 3
    let list = more > 0 ? language("\(shown) and \(more) more", "\(shown) 외 \(more)개") : shown
    return language(" (not for sale: \(list))", " (판매 불가: \(list))")
  }

  /// Returns a phrase with the duration of the alert, or an empty text if it is under a minute.
  private func length(of transition: AlertEvaluator.Transition, at now: Timestamp) -> String {
    let minutes = transition.since.minutes(until: now)
    guard minutes > 0 else { return "" }
    let length = language.length(ofMinutes: minutes)
    return transition.isResolved
      ? language(", after \(length)", ", \(length) 만에")
      : language(", for \(length)", ", \(length)째")
  }

  private func address(of alert: Alert) -> String {
    guard let kiosk = alert.kiosk else { return "\(baseURL)/" }
    return if case .out(_, let fruit) = alert {
      "\(baseURL)/kiosks/\(kiosk)?fruit=\(fruit)"
    } else {
      "\(baseURL)/kiosks/\(kiosk)"
    }
  }
}

extension KioskState {
  /// Returns the machine, payment device or sensor of an alert if the kiosk no longer has it.
  fileprivate func missingDevice(of alert: Alert) -> String? {
    switch alert {
    case .machine(_, let machine): machines[machine] == nil ? machine.text : nil
    case .payment(_, let device), .difference(_, let device):
      payments[device] == nil ? device.text : nil
    case .sensor(_, let sensor): sensors[sensor] == nil ? sensor.text : nil
    default: nil
    }
  }
}

extension Timestamp {
  fileprivate func minutes(until later: Timestamp) -> Int {
    Int(clamping: later.since(self).components.seconds / 60)
  }
}
