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
  /// Maximum length of a kiosk's name, in Unicode scalars.
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
    guard case .problem(let problem, let kiosk) = transition.alert else {
      return transition.isResolved
        ? language("The broker is reachable again", "브로커에 다시 연결됐어요")
        : language("The dashboard cannot reach its broker", "대시보드가 브로커에 연결하지 못해요")
    }
    let state = fleet[kiosk]
    let name = (state?.title(language) ?? kiosk.text).visible(upTo: Self.maximumName)
    return "\(name): \(summary(of: problem, isResolved: transition.isResolved, at: state))"
  }

  private func summary(of problem: Problem.Kind, isResolved: Bool, at kiosk: KioskState?) -> String
  {
    let text = ProblemText(kiosk?.reports ?? KioskReports(), language) { time in
      // Always with the day: a message may be delivered or read on another one.
      let localTime = LocalTime(kiosk?.timeZone, now: time, language)
      return "\(localTime.day(localTime.today)) \(localTime.text(time))"
    }
    guard isResolved else { return text.sentence(about: problem) }
    if let device = kiosk?.missingDevice(of: problem) {
      return language("\(device) was removed", "\(device) 제거됨")
    }
    let name = text.name(of: problem)
    switch problem {
    case .offline: return language("online again", "다시 온라인")
    case .noSales: return language("sells juices again", "다시 판매 중")
    case .unsold:
      return kiosk?.lostJuices.isEmpty == false
        ? language("all juices with enough fruit are for sale again", "과일이 있는 쥬스는 모두 다시 판매 중")
        : language("all juices are for sale again", "모든 쥬스 다시 판매 중")
    case .disk: return language("the disk has space again", "디스크에 다시 여유 있음")
    case .machine(let machine):
      return language("machine \(machine) works again", "기계 \(machine) 다시 작동")
    case .job(_, let ticket):
      return language("ticket \(ticket) is decided", "\(ticket)번 주문 확인 완료")
    case .payment(let device):
      return language("payment \(device) works again", "결제 \(device) 다시 작동")
    case .charge: return language("\(name) is decided", "\(name) 확인 완료")
    case .difference(let device):
      return language("end of day of \(device) is right", "\(device) 마감 금액 일치")
    case .sensor(let id):
      let sensor = id.title(language)
      if kiosk?.isReleased(id) == true {
        return language("sensor \(sensor) was released", "센서 \(sensor) 차단 해제됨")
      }
      return id == .clock
        ? language("the block of sensor \(sensor) is over", "센서 \(sensor) 차단 끝남")
        : language("sensor \(sensor) is fine again", "센서 \(sensor) 정상")
    case .expired: return language("expired \(name) is taken out", "만료된 \(name) 꺼냄")
    case .menu: return language("the menu of the chain is in use", "체인 메뉴 사용 중")
    case .clock: return language("the clock is right again", "시계가 다시 맞음")
    case .out, .low: return language("\(name) is back in stock", "\(name) 다시 채워짐")
    case .closed: return language("open again", "다시 영업 중")
    case .expires(let fruit):
      return kiosk?.expired[fruit] == nil
        ? language("\(name): nothing expires soon", "\(name): 곧 만료될 것 없음")
        : language("\(name) has expired", "\(name) 만료됨")
    }
  }

  /// Returns a phrase with the duration of the alert, or an empty text if it is under a minute.
  private func length(of transition: AlertEvaluator.Transition, at now: Timestamp) -> String {
    let minutes = transition.since.minutes(until: now)
    guard minutes > 0 else { return "" }
    let length = language.length(ofMinutes: minutes)
    if transition.isResolved {
      return transition.isEarlier
        ? language(", after at least \(length)", ", 최소 \(length) 만에")
        : language(", after \(length)", ", \(length) 만에")
    }
    return transition.isEarlier
      ? language(", for at least \(length)", ", \(length) 이상")
      : language(", for \(length)", ", \(length)째")
  }

  private func address(of alert: Alert) -> String {
    guard case .problem(let problem, let kiosk) = alert else { return "\(baseURL)/" }
    return if case .out(let fruit) = problem {
      "\(baseURL)/kiosks/\(kiosk)?fruit=\(fruit)"
    } else {
      "\(baseURL)/kiosks/\(kiosk)"
    }
  }
}

extension KioskState {
  /// Returns the machine, payment device or sensor of a problem if the kiosk no longer has it.
  fileprivate func missingDevice(of problem: Problem.Kind) -> String? {
    switch problem {
    case .machine(let machine): reports.machines[machine] == nil ? machine.text : nil
    case .payment(let device), .difference(let device):
      reports.payments[device] == nil ? device.text : nil
    case .sensor(let sensor):
      // The kiosk also clears the topic when a block of `clock`, or of a sensor that was removed
      // before, ends.
      reports.sensors[sensor] == nil && sensor != .clock && !isReleased(sensor) ? sensor.text : nil
    default: nil
    }
  }
}

extension Timestamp {
  fileprivate func minutes(until later: Timestamp) -> Int {
    Int(clamping: later.since(self).components.seconds / 60)
  }
}
