import CommandLineSupport
import Foundation
import JuiceDomain
import KioskDaemon
import KioskProtocol
import MessageBroker
import YAMLConfiguration

/// A simulated payment device in the terminal: follows `PaymentFirmware`, with the keyboard or a
/// timer instead of a card.
actor TerminalPayment: TerminalDevice {
  struct Settings: Sendable {
    var name: PaymentDeviceID
    /// Time after which each customer has paid, or `nil` if a person types each payment.
    var payAfter: Duration?
  }

  static let help = """
    Enter: the card is accepted. decline no credit: it is not, and why. present: it is in the reader.
    silent: answer nothing, until silent is typed again. power cut: end as without power, exit code 79.
    fault no paper: no new charges. online: they are possible again. day: end the day.
    """

  private let settings: Settings
  private let journal: PaymentJournal
  private var firmware = PaymentFirmware()
  private var isSilent = false
  /// The time at which the current prompt ends, and whether the customer has paid then.
  private var deadline: (at: ContinuousClock.Instant, isPaid: Bool)?
  var link: TerminalLink
  private var topics: KioskTopics { link.topics }

  init(
    _ settings: Settings, _ configuration: KioskConfiguration, journal: PaymentJournal
  ) throws(Failure) {
    self.settings = settings
    self.journal = journal
    link = try TerminalLink(
      configuration, clientID: "juice-payment-\(configuration.kiosk.id)-\(settings.name)",
      isLive: false)
    for action in firmware.restore(journal.records) {
      if case .store(let record) = action { try journal.store(record) }
    }
  }

  var subscriptions: [String] {
    let name = settings.name
    return [topics.charge(by: name), topics.result(for: Source(kind: .paid, name: name.text))]
      + ChargeRequest.Action.allCases.map { topics.charge($0, by: name) }
  }

  var opening: (line: String, messages: [Message]) {
    (
      "\(settings.name) is \(link.status.text); its last charge was \(firmware.last)",
      isSilent ? [] : firmware.openAnswers.map(message)
    )
  }

  var wait: Duration? { deadline.map { max($0.at - .now, .zero) } }

  func tick() async throws(Failure) {
    guard let deadline, deadline.at <= .now else { return }
    self.deadline = nil
    try await perform(deadline.isPaid ? firmware.pay() : firmware.pay(declined: "timeout"))
  }

  func stop() async {}

  func receive(_ message: Message) throws(JSONError) -> [PaymentFirmware.Action]? {
    if message.topic == topics.charge(by: settings.name) {
      let request = try ChargeRequest(payload: message.payload)
      return isSilent ? [] : begin(request)
    }
    for action in ChargeRequest.Action.allCases
    where message.topic == topics.charge(action, by: settings.name) {
      if action == .open {
        let epoch = try ChargeRequest.epoch(message.payload)
        return isSilent ? [] : firmware.inventory(epoch: epoch)
      }
      let (charge, units) = try ChargeRequest.parse(message.payload)
      return isSilent ? [] : firmware.request(action, charge, units: units)
    }
    return nil
  }

  private func begin(_ request: ChargeRequest) -> [PaymentFirmware.Action] {
    let actions = firmware.charge(request)
    guard firmware.prompt?.charge == request.charge, deadline == nil else { return actions }
    let limit = settings.payAfter ?? .seconds(request.paySeconds)
    deadline = (.now + limit, settings.payAfter != nil)
    link.screen.print(
      "charge \(request.charge), ticket \(request.ticket): \(request.quantity) "
        + "\(request.text), \(request.amount); Enter: pay, decline REASON")
    return actions
  }

  func perform(_ actions: [PaymentFirmware.Action]) async throws(Failure) {
    var messages: [Message] = []
    for action in actions {
      switch action {
      case .store(let record): try journal.store(record)
      case .publish(let answer):
        // Also the end of a prompt, by a key or by time, gets no answer: a charge without one is open
        // until the kiosk ends it.
        if !isSilent { messages.append(message(answer)) }
        if answer.status != .waiting(isPresented: false) {
          link.screen.print(
            "charge \(answer.charge): \(answer.status.name)"
              + (answer.status.money.map { " \($0)" } ?? "")
              + (answer.reason.map { ", \($0)" } ?? "") + (isSilent ? "; not sent" : ""))
        }
      case .inventory(let epoch):
        messages.append(
          Message(
            topic: topics.paid(by: settings.name), payload: PaymentAnswer.inventory(epoch: epoch)))
      case .total(let total):
        link.screen.print(
          "end of day \(total.total): \(total.captured), refunded \(total.refunded)")
        messages.append(
          Message(
            topic: topics.paymentTotal(of: settings.name), payload: total.payload, retain: true))
      }
    }
    if firmware.prompt == nil { deadline = nil }
    await publish(messages)
  }

  // MARK: Keyboard

  func type(_ line: String) async throws(Failure) {
    let words = line.prefix(200).split(separator: " ").map(String.init)
    let rest = words.dropFirst().joined(separator: " ")
    switch words.first {
    case nil, "approve": try await end(firmware.pay())
    case "decline": try await end(firmware.pay(declined: rest.isEmpty ? "declined" : rest))
    case "present":
      guard let charge = firmware.prompt?.charge else {
        return link.screen.print("no customer is asked to pay now")
      }
      try await perform([
        .publish(PaymentAnswer(charge: charge, status: .waiting(isPresented: true)))
      ])
    case "silent":
      isSilent.toggle()
      link.screen.print(
        isSilent ? "\(settings.name) answers nothing" : "\(settings.name) answers again")
    case "power" where rest == "cut":
      link.screen.print("simulated power cut")
      // A power cut ends the connection without a DISCONNECT.
      _exit(TerminalMachine.powerCut)
    case "day":
      let actions = firmware.endDay(at: .now)
      if actions.isEmpty { link.screen.print("a charge is not over yet: end the day later") }
      try await perform(actions)
    case "fault", "online", "offline":
      guard let status = MachineStatus(line) else { return link.screen.print(Self.help) }
      link.status = status
      firmware.isInFault = !status.isOnline
      await publish([message(status)])
    default: link.screen.print(Self.help)
    }
  }

  private func end(_ actions: [PaymentFirmware.Action]) async throws(Failure) {
    if actions.isEmpty { link.screen.print("no customer is asked to pay now") }
    try await perform(actions)
  }

  // MARK: Messages

  func message(_ status: MachineStatus) -> Message {
    Message(topic: topics.paymentStatus(of: settings.name), text: status.text, retain: true)
  }

  private func message(_ answer: PaymentAnswer) -> Message {
    Message(topic: topics.paid(by: settings.name), payload: answer.payload)
  }
}
