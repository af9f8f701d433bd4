/// One connection to a terminal: sends one command at a time, acknowledges what the terminal sends,
/// and reports how the command ended. Does no input and output.
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
    /// Time in which the terminal acknowledges a command, and sends the rest of a packet.
    package var acknowledgement = Duration.seconds(5)
    /// Time between two packets of the terminal while it executes a command.
    package var silence = Duration.seconds(180)

    package init() {}
  }

  package enum Action: Hashable, Sendable {
    case send([UInt8])
    /// The terminal has accepted the command.
    case accepted
    /// An intermediate status, such as `0A`: present card.
    case progress(UInt8)
    /// A payment is approved, and the terminal asks whether the goods are made.
    case approved(Fields)
    /// The command has ended.
    case ended(TerminalCommand, Outcome)
    /// The connection is of no use any more, for this reason.
    case drop(String)
  }

  /// The end of a command.
  package enum Outcome: Hashable, Sendable {
    /// Executed. The last status information, or `nil` if there was none that can be read; and the
    /// completion.
    case completed(Fields?, TerminalMessage.Completion?)
    /// Ended by the terminal. It does not prove that nothing was booked.
    case aborted(ResultCode, status: Fields?, Fields?)
    /// Not executed.
    case refused(ResultCode)
    /// The connection was lost: what became of the command is not known.
    case lost
  }

  private enum State: Sendable {
    case closed
    case idle
    case sent(TerminalCommand)
    case running(TerminalCommand)
  }

  /// Maximum number of packets of the terminal for one command: an hour of questions whether the
  /// goods are made, or a long receipt.
  private static let maximumPackets = 10_000

  /// The answer to the terminal's question whether the goods are made.
  package var goods = Goods.beingMade

  private let settings: Settings
  private var state = State.closed
  private var reader = APDUReader()
  private var packets = 0
  private var lastStatus: Fields?
  private var deadlineOfPacket: Duration?

  package init(_ settings: Settings) { self.settings = settings }

  package var isIdle: Bool { if case .idle = state { true } else { false } }
  package var isOpen: Bool { if case .closed = state { false } else { true } }

  /// The time at which `tick(at:)` must be called.
  package var deadline: Duration? { deadlineOfPacket }

  /// Begins with a new connection.
  package mutating func open() {
    (state, reader, deadlineOfPacket) = (.idle, APDUReader(), nil)
  }

  /// Ends the connection, which was lost or dropped.
  package mutating func close() -> [Action] {
    defer { (state, deadlineOfPacket) = (.closed, nil) }
    switch state {
    case .sent(let command), .running(let command): return [.ended(command, .lost)]
    case .closed, .idle: return []
    }
  }

  /// Sends a command. The session must be idle.
  package mutating func begin(_ command: TerminalCommand, at now: Duration) -> [Action] {
    guard isIdle else { return [] }
    (state, packets, lastStatus, goods) = (.sent(command), 0, nil, .beingMade)
    deadlineOfPacket = now + settings.acknowledgement
    return [.send(command.packet(settings.text).bytes)]
  }

  /// Asks the terminal to end the running command.
  package func abort() -> [Action] {
    switch state {
    case .sent, .running: [.send(APDU(0x06B0).bytes)]
    case .closed, .idle: []
    }
  }

  /// Asks a terminal that is still busy with a command of an earlier connection to end it.
  package func abortUnknown() -> [Action] { [.send(APDU(0x06B0).bytes)] }

  package mutating func receive(_ bytes: [UInt8], at now: Duration) -> [Action] {
    guard isOpen else { return [] }
    var actions: [Action] = []
    let wasInPacket = reader.isInPacket
    let received = reader.read(bytes)
    for packet in received where isOpen { receive(packet, at: now, &actions) }
    guard isOpen else { return actions }
    if received.isEmpty {
      // Half a packet does not prolong the time.
      if !wasInPacket, reader.isInPacket { extend(to: now + settings.acknowledgement) }
    } else {
      setDeadline(at: now)
    }
    return actions
  }

  package mutating func tick(at now: Duration) -> [Action] {
    guard let deadlineOfPacket, deadlineOfPacket <= now else { return [] }
    return drop(
      reader.isInPacket
        ? "the terminal sent a part of a packet and then nothing" : "the terminal does not answer")
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
      // A terminal may go on with a command of an earlier connection.
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
        actions += [.send(goods.answer.bytes), .approved(fields)]
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
    state = .idle
    actions.append(.ended(command, outcome))
  }

  private static let notSupported = APDU(0x8483).bytes
}
