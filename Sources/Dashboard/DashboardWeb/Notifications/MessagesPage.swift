import Fleet
import JuiceDomain
import KioskProtocol
import TimeZones

/// The page on which a user chooses the messages to get by mail, with those that were sent.
struct MessagesPage {
  /// The outcome of a form.
  enum Outcome {
    case saved, stopped, badAddress, badHours, nothing, tooMany
  }

  let choice: MessageChoice?
  /// The kiosks that the user may see.
  let fleet: KioskFleet
  /// Whether there is a mail server.
  let canSend: Bool
  let sent: [SentMessage]
  let localTime: LocalTime
  let context: PageContext

  private var language: Language { context.language }

  /// Returns the page.
  ///
  /// - Parameter filled: The form to show again, or `nil` to show the choice.
  func page(_ outcome: Outcome? = nil, filled: Form? = nil) -> Page {
    let title = language("Messages", "알림")
    return Page(
      title: title,
      body: """
        <p class="path"><a href="/account">← \(language("Your account", "내 계정"))</a></p>
        \(outcome.map(notice))
        <h1>\(title)</h1>
        \(canSend ? form(filled) : nothing)
        <section class="card"><h2>\(language("Sent to you", "나에게 보낸 알림"))</h2>
        \(SentMessageList(messages: sent, localTime: localTime, language: language).html)</section>
        """, timeZone: localTime.clock.name)
  }

  private var nothing: HTML {
    language.notice(
      .hint, "There is no mail server: the configuration needs notify.email.",
      "메일 서버가 없어요. 설정 파일에 notify.email이 필요해요.")
  }

  /// Whether nothing is sent now.
  private var isQuiet: Bool {
    guard let choice else { return false }
    let chosen = fleet.limited { choice.kiosks?.contains($0.id) ?? true }
    return choice.isQuiet(at: localTime.now, in: chosen)
  }

  private func notice(_ outcome: Outcome) -> HTML {
    switch outcome {
    case .saved:
      isQuiet
        ? language.notice(
          .good, "Saved: what is still wrong after the quiet hours is sent then.",
          "저장했어요. 조용한 시간이 끝난 뒤에도 계속되는 문제는 그때 보내요.")
        : language.notice(
          .good, "Saved: you get what is wrong now, too.", "저장했어요. 지금 생긴 문제도 보내요.")
    case .stopped: language.notice(.good, "You get no messages any more.", "더 이상 알림을 보내지 않아요.")
    case .badAddress:
      language.notice(
        .bad, "Write the address like minji@example.com.", "주소를 minji@example.com처럼 적어 주세요.")
    case .badHours:
      language.notice(
        .bad, "Write both times of the quiet hours, and different ones.",
        "조용한 시간의 시작과 끝을 서로 다르게 모두 적어 주세요.")
    case .nothing:
      language.notice(
        .bad, "Choose at least one kind and one kiosk.", "종류와 키오스크를 하나 이상 골라 주세요.")
    case .tooMany:
      language.notice(
        .bad, "At most \(UserMessages.maximum) users get messages.",
        "알림은 \(UserMessages.maximum)명까지 받을 수 있어요.")
    }
  }

  private func form(_ filled: Form?) -> HTML {
    let kinds: [HTML] = MessageChoice.Kind.allCases.map { kind in
      let isChosen =
        filled.map { $0["kind.\(kind.rawValue)"] != nil } ?? choice?.kinds.contains(kind) ?? true
      return box("kind.\(kind.rawValue)", kind.name(language), isChosen)
    }
    let isAll = filled.map { $0["kiosks"] != "some" } ?? (choice?.kiosks == nil)
    // The chosen kiosks come first, also those that the fleet does not contain now.
    let old = choice?.kiosks ?? []
    let chosen = filled.map { Set($0.names("kiosk.").compactMap { KioskID($0) }) } ?? old
    let first = old.union(chosen.filter { fleet[$0] != nil })
    let others = fleet.kiosks.map(\.id).filter { !first.contains($0) }.sorted { key($0) < key($1) }
      .prefix(max(0, OtherKiosks.maximum - first.count))
    let boxes: [HTML] = (first.sorted { key($0) < key($1) } + others).map { kiosk in
      box("kiosk.\(kiosk)", title(kiosk), chosen.contains(kiosk))
    }
    let stop: HTML? =
      choice == nil
      ? nil
      : """
      <form method="post" action="/account/messages">\(context.fields())\(HTML.hidden("do", "stop"))
      <button>\(language("Send me no messages", "알림 받지 않기"))</button></form>
      """
    return """
      <section class="card"><form id="messages" method="post" action="/account/messages">\(context.fields())\(HTML.hidden("do", "save"))
      <div class="fields"><label>\(language("E-mail address", "이메일 주소"))
      <input type="email" name="address" value="\(filled?["address"] ?? choice?.address ?? "")" maxlength="254" required autocomplete="email"></label>
      <label>\(language("Quiet from (optional)", "조용한 시간 시작 (선택)"))
      <input type="time" name="from" value="\(filled?["from"] ?? choice?.quietHours?.from ?? "")"></label>
      <label>\(language("Quiet until", "조용한 시간 끝"))
      <input type="time" name="to" value="\(filled?["to"] ?? choice?.quietHours?.to ?? "")"></label></div>
      <p class="muted">\(language(
        "What begins and ends in quiet hours is not sent; what is still wrong is sent after them.",
        "조용한 시간에 생겼다가 끝난 일은 보내지 않고, 계속되는 문제는 그 뒤에 보내요."))</p>
      <fieldset><legend>\(language("Kinds", "종류"))</legend>\(kinds)</fieldset>
      <fieldset><legend>\(language("Kiosks", "키오스크"))</legend>
      <label class="choice"><input type="radio" name="kiosks" value="all"\(isAll ? " checked" : .empty)> \(language("all that I may see", "내가 볼 수 있는 모든 키오스크"))</label>
      <label class="choice"><input type="radio" name="kiosks" value="some"\(isAll ? .empty : " checked")> \(language("only these:", "고른 키오스크만:"))</label>
      \(boxes)</fieldset>
      <div class="actions"><button class="primary">\(language("Save", "저장"))</button></div></form>\(stop)</section>
      """
  }

  private func title(_ kiosk: KioskID) -> String { fleet[kiosk]?.title(language) ?? kiosk.text }

  private func key(_ kiosk: KioskID) -> (String, KioskID) { (title(kiosk), kiosk) }

  private func box(_ name: String, _ text: String, _ isChosen: Bool) -> HTML {
    """
    <label class="choice"><input type="checkbox" name="\(name)" value="1"\(isChosen ? " checked" : .empty)> \(text)</label>

    """
  }
}

/// The list of the messages that were sent, the latest 100.
struct SentMessageList {
  let messages: [SentMessage]
  let localTime: LocalTime
  let language: Language

  var html: HTML {
    guard !messages.isEmpty else {
      return "<p class=\"empty\">\(language("None yet.", "아직 없어요."))</p>"
    }
    let rows: [HTML] = messages.prefix(ListSlice.length).map { message in
      let state: HTML =
        message.problem.map {
          "<span class=\"chip bad\">\(language("refused", "거절됨"))</span> \($0)"
        }
        ?? "<span class=\"chip good\">\(language("sent", "보냄"))</span>"
      return """
        <tr><th scope="row">\(localTime.html(message.at))</th>
        <td><details><summary>\(message.subject)</summary><pre>\(message.text)</pre></details></td>
        <td>\([message.user?.text, message.receiver].compactMap(\.self).joined(separator: " · "))</td><td>\(state)</td></tr>

        """
    }
    let heads = [
      language("Time", "시각"), language("Message", "알림"), language("To", "받는 곳"),
      language("State", "상태"),
    ]
    return """
      <div class="wide" tabindex="0">\(HTML.table(heads, rows, id: "sent", style: "review chain log"))</div>
      """
  }
}

extension MessageChoice.Kind {
  fileprivate func name(_ language: Language) -> String {
    switch self {
    case .offline:
      language("Offline, clock, disk, menu of the chain", "오프라인, 시계, 디스크, 체인 메뉴")
    case .sales: language("Juices not for sale", "쥬스 판매 불가")
    case .stock: language("Too little fruit", "과일 모자람")
    case .dates: language("Fruit that expires", "유통기한")
    case .machines: language("Machines", "기계")
    case .payments: language("Payments", "결제")
    case .sensors: language("Sensors", "센서")
    }
  }
}
