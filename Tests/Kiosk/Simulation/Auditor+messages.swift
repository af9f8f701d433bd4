import JuiceDomain
import KioskProtocol
import MessageBroker

// Checks of the messages that clients and displays receive.
extension Auditor {
  mutating func receive(_ messages: [Message], at now: Duration) {
    for message in messages {
      if message.topic == "kiosk/k1/status" {
        // A retained status may stem from the broker's last save.
        isOnline = !message.retain && message.payload == Array("online".utf8)
        if isOnline { lastOnline = now }
      } else if message.topic == "kiosk/k1/events" {
        receiveEvent(message.payload)
      } else {
        receiveAnswer(message)
      }
    }
    if isOnline { lastOnline = now }
  }

  private mutating func receiveEvent(_ payload: [UInt8]) {
    guard case .integer(let number) = try? JSON.parse(payload)["seq"] else {
      return fail(.events, "an event without a number: \(text(payload))")
    }
    if number > lastEvent + 1 { fail(.events, "after event \(lastEvent) comes \(number)") }
    if number > seq { fail(.events, "event \(number) tells what is not in the ledger") }
    lastEvent = max(lastEvent, number)
  }

  private mutating func receiveAnswer(_ message: Message) {
    let answer = text(message.payload)
    trace.append("\(message.topic): \(answer)")
    guard let result = try? CommandResult(payload: message.payload) else {
      return fail(.answer, "no result: \(answer)")
    }
    // An answer that has ended two connections in a row goes to the default topic, marked as a
    // duplicate.
    let plain = result.isDuplicate ? result.seq.flatMap { entries[$0]?.number } : nil
    guard let number = Self.number(message.correlationData) ?? plain, sent.indices.contains(number),
      message.topic == "kiosk/k1/\(sent[number].sending.from)/result"
    else { return fail(.answer, "no request for \(answer)") }
    guard let seq = result.seq else { return receiveRejection(number, result) }
    guard var entry = entries[seq] else {
      return fail(.answer, "message \(number) was answered with entry \(seq), which does not exist")
    }
    let first = sent[entry.number].sending
    if entry.number != number {
      let isRepeat =
        first.id != nil
        && (first.from, first.id) == (sent[number].sending.from, sent[number].sending.id)
      let mayBeConfused = first.id == nil && (hasBrokerRestoredSave || hasMissedNewSession)
      if !isRepeat, !isDebounced(sent[number]), !mayBeConfused {
        fail(.lost, "message \(number) is taken for message \(entry.number), entry \(seq)")
      }
      if !result.isDuplicate { fail(.answer, "not marked as a repetition: \(answer)") }
      if hasJobEnded(seq, before: number) {
        fail(.answer, "message \(number) was not told what became of job \(seq)")
      }
      if sent[number].seq == nil { sent[number].seq = seq }
      pending.remove(number)
    }
    let bare = result.isDuplicate ? answer.replacing(",\"duplicate\":true}", with: "}") : answer
    if let told = entry.answer, told != Array(bare.utf8) {
      fail(.answer, "entry \(seq) was answered \(text(told)), then \(bare)")
    }
    if entry.answer == nil {
      if !result.matches(entry.outcome, stock: entry.stock) || result.id?.text != first.id
        || result.amount?.units != entry.cents
      {
        fail(.answer, "entry \(seq) is \(entry.outcome), the answer was \(answer)")
      }
      entry.answer = Array(bare.utf8)
      entries[seq] = entry
    }
    unanswered.remove(seq)
  }

  /// Checks a log line about an answer that the kiosk gives up. It may do so only after more than
  /// six connections broke with the answer in flight: once or twice among others, then six times
  /// alone.
  ///
  /// - Parameter losses: number of the kiosk's connections that have broken.
  mutating func read(log line: String, losses: Int) {
    let words = line.split(separator: " ")
    guard line.contains(" is given up: "), let seq = Int(words[3].dropFirst()) else { return }
    guard let entry = entries[seq], losses - sent[entry.number].losses > 6 else {
      return fail(.answer, "the answer to entry \(seq) was given up too early")
    }
    trace.append("the answer to entry \(seq) is given up")
    unanswered.remove(seq)
  }

  /// Checks a rejection by the command filter. It has no ledger entry, so the sender may send the
  /// command again with the same id.
  private mutating func receiveRejection(_ number: Int, _ result: CommandResult) {
    pending.remove(number)
    let sending = sent[number].sending
    let isValid =
      switch (result.reason, sending.content) {
      case (.malformed, .junk): true
      case (.rateLimited, _): mayBeBeyondRate(sending)
      // The outcome of a person's request about a charge.
      case (nil, .settle): result.status == .applied || result.status == .failed
      default: false
      }
    if !isValid { fail(.decision, "message \(number) was turned away: \(result)") }
  }

  /// Returns whether the sender may have exceeded the rate limit: it has sent more messages than
  /// the limit allows per second, or a retained one, which the broker delivers on each connection; or operators
  /// together have.
  func mayBeBeyondRate(_ sending: Sending) -> Bool {
    guard rules.perSecond > 0 else { return false }
    let others = sent.lazy.filter { $0.sending.from == sending.from }
    let operators = sent.lazy.filter { !$0.sending.from.hasPrefix("order/") }
    return others.count > rules.perSecond || others.contains { $0.sending.isRetained }
      || !sending.from.hasPrefix("order/") && operators.count > 2 * rules.perSecond
  }

  mutating func show(_ messages: [Message], isConnected: Bool) {
    if !isConnected { display = [:] }
    isDisplayConnected = isConnected
    for message in messages {
      display[String(message.topic.dropFirst("kiosk/k1/".count))] = text(message.payload)
    }
  }

  static func number(_ correlationData: [UInt8]?) -> Int? {
    correlationData.flatMap { Int(text($0)) }
  }
}

func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
