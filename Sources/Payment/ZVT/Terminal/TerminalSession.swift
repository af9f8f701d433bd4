/// One connection to a terminal: sends one command at a time, acknowledges the packets of the
/// terminal, and reports the outcome of the command. A value without I/O.
///
/// ```swift
/// var session = TerminalSession(settings)
/// session.open()
/// for action in session.begin(.enquireStatus(password: 0), at: now) { perform(action) }
/// for action in session.receive(bytes, at: now) { perform(action) }
/// ```
package struct TerminalSession: Sendable {
  package struct Settings: Sendable {
    package var text = TerminalText.cp437
    /// Maximum time until the terminal acknowledges a command, or sends the rest of a packet.
    package var acknowledgement = Duration.seconds(5)
    /// Maximum time between two packets of the terminal while it executes a command.
    package var silence = Duration.seconds(180)
    /// The time for which the session holds back the answer that the goods are being made. Some terminals
    /// ask again as soon as they have it, and may ask a limited number of times.
    package var questionDelay = Duration.seconds(2)

    package init() {}
  }

  package enum Action: Hashable, Sendable {
    case send([UInt8])
    /// The terminal has accepted the command.
    case accepted
    /// An intermediate status, such as `0A`: present card.
    case progress(UInt8)
    /// The terminal has approved a payment, and asks whether the goods are made.
    case approved(Fields)
    /// The command has ended.
    case ended(TerminalCommand, Outcome)
    /// The caller must drop the connection, for this reason.
    case drop(String)
  }

  /// The outcome of a command.
  package enum Outcome: Hashable, Sendable {
    /// The terminal completed the command; the status or the completion can contain a failure. The values are the
    /// command's last status information and the completion, each `nil` if it is absent or cannot be read.
    case completed(Fields?, TerminalMessage.Completion?)
    /// The terminal aborted the command, which does not prove that no money moved. The last value is the abort's fields.
    case aborted(ResultCode, status: Fields?, Fields?)
    /// The terminal did not execute the command.
    case refused(ResultCode)
    /// The connection was lost, and with it the result of the command.
    case lost

    /// The failed result of a completed command, or `nil` if there is none. Some terminals report it in
    /// the status, others in the completion only.
    package var failure: ResultCode? {
      guard case .completed(let status, let completion) = self else { return nil }
      let codes = [status?.resultCode, completion?.fields.resultCode].compactMap(\.self)
      return codes.first { $0 != 0 }.map { ResultCode($0) }
    }
  }

  private enum State: Sendable {
    case closed
    case idle
    case sent(TerminalCommand)
    case running(TerminalCommand)
  }

  /// Maximum number of packets of the terminal for one command. An hour of questions whether the
  /// goods are made, or a long receipt, needs fewer.
  private static let maximumPackets = 10_000

  /// The answer to the terminal's question whether the goods are made. After a change the caller must
  /// call `answerQuestion`.
  package var goods = Goods.beingMade
  /// The times of the question that the session has not answered yet: of the question, and of the
  /// answer unless the goods are made before.
  private var question: (at: Duration, answer: Duration)?
  /// The time for which answers are held back: shorter than the setting for a terminal that waits less.
  private var questionDelay: Duration

  private let settings: Settings
  private var state = State.closed
  private var reader = APDUReader()
  private var packets = 0
  private var lastStatus: Fields?
  private var deadlineOfPacket: Duration?

  package init(_ settings: Settings) {
    self.settings = settings
    questionDelay = settings.questionDelay
  }

  package var isIdle: Bool { if case .idle = state { true } else { false } }
  package var isOpen: Bool { if case .closed = state { false } else { true } }

  /// The time at which the caller must call `tick(at:)`, or `nil` if no timer runs.
  package var deadline: Duration? {
    [deadlineOfPacket, question?.answer].compactMap(\.self).min()
  }

  /// Resets the session for a new connection.
  package mutating func open() {
    (state, reader, deadlineOfPacket, question) = (.idle, APDUReader(), nil, nil)
  }

  /// Ends the session after its connection was lost or dropped.
  package mutating func close() -> [Action] {
    defer { (state, deadlineOfPacket, question) = (.closed, nil, nil) }
    switch state {
    case .sent(let command), .running(let command): return [.ended(command, .lost)]
    case .closed, .idle: return []
    }
  }

  /// Sends a command. If the session is not idle, does nothing.
  package mutating func begin(_ command: TerminalCommand, at now: Duration) -> [Action] {
    guard isIdle else { return [] }
    (state, packets, lastStatus, goods) = (.sent(command), 0, nil, .beingMade)
    deadlineOfPacket = now + settings.acknowledgement
    return [.send(command.packet(settings.text).bytes)]
  }

  /// Sends the request to end the current command, or nothing if there is none.
  package func abort() -> [Action] {
    switch state {
    case .sent, .running: [.send(APDU(0x06B0).bytes)]
    case .closed, .idle: []
    }
  }

  /// Sends the request to end a command that the terminal still executes for an earlier connection.
  package func abortUnknown() -> [Action] { [.send(APDU(0x06B0).bytes)] }

  package mutating func receive(_ bytes: [UInt8], at now: Duration) -> [Action] {
    guard isOpen else { return [] }
    var actions: [Action] = []
    let wasInPacket = reader.isInPacket
    let received = reader.read(bytes)
    for packet in received where isOpen { receive(packet, at: now, &actions) }
    guard isOpen else { return actions }
    if received.isEmpty {
      // The start of a packet may shorten the deadline; a part of a packet never extends it.
      if !wasInPacket, reader.isInPacket { extend(to: now + settings.acknowledgement) }
    } else {
      setDeadline(at: now)
    }
    return actions
  }

  /// Answers the terminal's question, if there is one, and the goods are made or not made, or the answer
  /// is due.
  package mutating func answerQuestion(at now: Duration) -> [Action] {
    // guard: the register sets the pace of the questions
    guard let question, goods != .beingMade || question.answer <= now else { return [] }
    self.question = nil
    return [.send(goods.answer.bytes)]
  }

  package mutating func tick(at now: Duration) -> [Action] {
    let answer = answerQuestion(at: now)
    guard let deadlineOfPacket, deadlineOfPacket <= now else { return answer }
    return answer
      + drop(
        reader.isInPacket
          ? "the terminal sent a part of a packet and then nothing" : "the terminal does not answer"
      )
  }

  private mutating func drop(_ reason: String) -> [Action] { close() + [.drop(reason)] }

  private mutating func extend(to time: Duration) {
    deadlineOfPacket = deadlineOfPacket.map { min($0, time) } ?? time
  }

  private mutating func setDeadline(at now: Duration) {
    deadlineOfPacket =
      switch state {
      case .running: now + (reader.isInPacket ? settings.acknowledgement : settings.silence)
      case .sent: now + settings.acknowledgement
      case .idle: reader.isInPacket ? now + settings.acknowledgement : nil
      case .closed: nil
      }
  }

  private mutating func receive(_ packet: APDU, at now: Duration, _ actions: inout [Action]) {
    let command: TerminalCommand
    let isEnquiry: Bool
    switch state {
    case .sent(let current), .running(let current):
      (command, isEnquiry) = (current, current.isEnquiry)
    case .idle:
      // The terminal may continue a command of an earlier connection.
      switch TerminalMessage(packet, isEnquiry: false, settings.text) {
      case .acknowledged, .refused, .wait: break
      case .unknown: actions.append(.send(Self.notSupported))
      default: actions.append(.send(APDU.acknowledgement.bytes))
      }
      return
    case .closed: return
    }
    packets += 1
    guard packets <= Self.maximumPackets else {
      actions += drop("the terminal sent \(packets) packets for one command")
      return
    }
    let message = TerminalMessage(packet, isEnquiry: isEnquiry, settings.text)
    if case .sent = state {
      switch message {
      case .refused(let code): return end(command, .refused(ResultCode(code)), &actions)
      case .wait: return end(command, .refused(ResultCode(0x9C)), &actions)
      default: break
      }
      state = .running(command)
      actions.append(.accepted)
    }
    switch message {
    case .acknowledged, .refused, .wait: return
    case .unknown:
      actions.append(.send(Self.notSupported))
      return
    case .status(let fields):
      lastStatus = fields
      if case .authorise = command, let fields, fields.resultCode == 0 {
        if let question {
          // The terminal waits for less time than the answer was held back.
          questionDelay = max(.milliseconds(200), (now - question.at) / 2)
        }
        question = (now, now + questionDelay)
        actions.append(.approved(fields))
        return
      }
    case .progress(let code): actions.append(.progress(code))
    case .print, .setClock: break
    case .completed(let completion):
      actions.append(.send(APDU.acknowledgement.bytes))
      return end(command, .completed(lastStatus, completion), &actions)
    case .aborted(let code, let fields):
      actions.append(.send(APDU.acknowledgement.bytes))
      return end(command, .aborted(ResultCode(code), status: lastStatus, fields), &actions)
    }
    actions.append(.send(APDU.acknowledgement.bytes))
  }

  private mutating func end(
    _ command: TerminalCommand, _ outcome: Outcome, _ actions: inout [Action]
  ) {
    (state, question) = (.idle, nil)
    actions.append(.ended(command, outcome))
  }

  private static let notSupported = APDU(0x8483).bytes
}
