import CommandLineSupport
import Foundation
import JuiceDomain
import KioskDaemon
import KioskProtocol
import MessageBroker
import YAMLConfiguration

/// A payment device in the terminal: follows `PaymentFirmware`, with the keyboard or a timer instead
/// of a card.
actor TerminalPayment {
  struct Settings: Sendable {
    var name: PaymentDeviceID
    /// Time after which each customer has paid, or `nil` if a person types it.
    var payAfter: Duration?
  }

  static let help = """
    Enter: the card is accepted. decline no credit: it is not, and why. present: it is in the reader.
    silent: answer nothing, until silent is typed again. power cut: end as without power, exit code 79.
    fault no paper: no new charges. online: they are possible again. day: end the day.
    """

  private let settings: Settings
  private let topics: KioskTopics
  private let kiosk: KioskID
  private let journal: PaymentJournal
  private let broker: any BrokerClient
  private var firmware = PaymentFirmware()
  private var status = MachineStatus.online
  private var isSilent = false
  private var wasOnline = false
  /// The end of the present prompt.
  private var deadline: (at: ContinuousClock.Instant, isPaid: Bool)?
  private var screen = PourScreen(isLive: false)

  init(
    _ settings: Settings, _ configuration: KioskConfiguration, journal: PaymentJournal
  ) throws(Failure) {
    self.settings = settings
    self.journal = journal
    topics = configuration.topics
    kiosk = configuration.kiosk.id
    broker = try configuration.makeBroker()
  }

  /// Runs until the task is cancelled or standard output fails.
  func run() async throws(Failure) {
    let name = settings.name
    for action in firmware.restore(journal.records) {
      if case .store(let record) = action { try journal.store(record) }
    }
    let subscribed =
      [topics.charge(by: name), topics.result(for: Source(kind: .paid, name: name.text))]
      + ChargeRequest.Action.allCases.map { topics.charge($0, by: name) }
    await broker.connect(
      SessionOptions(
        clientID: "juice-payment-\(kiosk)-\(name)",
        subscriptions: subscribed.map(TopicFilter.init(unchecked:)), will: message(.offline),
        limits: .commands))
    while !Task.isCancelled, screen.failure == nil {
      let wait = deadline.map { max($0.at - .now, .zero) }
      switch await broker.nextEvent(timeout: wait) {
      case .deliveries(let deliveries):
        // Stores the records of all deliveries before the batch is acknowledged.
        try await perform(deliveries.flatMap { receive($0) })
        await broker.acknowledge()
      case .online:
        wasOnline = true
        screen.print("\(name) is \(status.text); its last charge was \(firmware.last)")
        await publish([message(status)] + firmware.openAnswers.map(message))
      case .offline(let error):
        guard wasOnline || error.isTransient, error != .sessionTakenOver else {
          throw error.failure
        }
        screen.print("\(error); retrying")
      case .refused(let topics):
        for (topic, reason) in topics { screen.print("the broker refuses \(topic): \(reason)") }
      case .confirmed, .updated, .sessionBegan, nil: break
      }
      if let deadline, deadline.at <= .now {
        self.deadline = nil
        try await perform(deadline.isPaid ? firmware.pay() : firmware.pay(declined: "timeout"))
      }
    }
    await publish([message(.offline)])
    await broker.disconnect(grace: .seconds(1))
    if let failure = screen.failure { throw failure }
  }

  private func receive(_ delivery: Delivery) -> [PaymentFirmware.Action] {
    let message = delivery.message
    guard delivery.excess == nil, !message.retain else {
      screen.print("ignored \(message.topic): it is retained or too large")
      return []
    }
    do throws(JSONError) {
      if message.topic == topics.charge(by: settings.name) {
        let request = try ChargeRequest(payload: message.payload)
        if isSilent { return [] }
        let actions = firmware.charge(request)
        if firmware.prompt?.charge == request.charge, deadline == nil {
          let limit = settings.payAfter ?? .seconds(request.paySeconds)
          deadline = (.now + limit, settings.payAfter != nil)
          screen.print(
            "charge \(request.charge), ticket \(request.ticket): \(request.quantity) "
              + "\(request.text), \(request.amount); Enter: pay, decline REASON")
        }
        return actions
      }
      for action in ChargeRequest.Action.allCases
      where message.topic == topics.charge(action, by: settings.name) {
        let (charge, units) = try ChargeRequest.parse(message.payload)
        return isSilent ? [] : firmware.request(action, charge, units: units)
      }
      screen.print("the kiosk answers: \(try CommandResult(payload: message.payload).summary)")
    } catch {
      screen.print("ignored \(message.topic): \(error)")
    }
    return []
  }

  private func perform(_ actions: [PaymentFirmware.Action]) async throws(Failure) {
    var messages: [Message] = []
    for action in actions {
      switch action {
      case .store(let record): try journal.store(record)
      case .publish(let answer):
        messages.append(message(answer))
        if answer.status != .waiting(isPresented: false) {
          screen.print(
            "charge \(answer.charge): \(answer.status.name)"
              + (answer.status.money.map { " \($0)" } ?? "")
              + (answer.reason.map { ", \($0)" } ?? ""))
        }
      case .total(let total):
        screen.print("end of day \(total.total): \(total.captured), refunded \(total.refunded)")
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
        return screen.print("no customer is asked to pay now")
      }
      await publish([message(PaymentAnswer(charge: charge, status: .waiting(isPresented: true)))])
    case "silent":
      isSilent.toggle()
      screen.print(isSilent ? "\(settings.name) answers nothing" : "\(settings.name) answers again")
    case "power" where rest == "cut":
      screen.print("simulated power cut")
      // A power cut ends the connection without a DISCONNECT.
      _exit(TerminalMachine.powerCut)
    case "day":
      let actions = firmware.endDay(at: .now)
      if actions.isEmpty { screen.print("a charge is not over yet: end the day later") }
      try await perform(actions)
    case "fault", "online", "offline":
      guard let status = MachineStatus(line) else { return screen.print(Self.help) }
      self.status = status
      firmware.isInFault = !status.isOnline
      await publish([message(status)])
    default: screen.print(Self.help)
    }
  }

  private func end(_ actions: [PaymentFirmware.Action]) async throws(Failure) {
    if actions.isEmpty { screen.print("no customer is asked to pay now") }
    try await perform(actions)
  }

  // MARK: Messages

  private func message(_ status: MachineStatus) -> Message {
    Message(topic: topics.paymentStatus(of: settings.name), text: status.text, retain: true)
  }

  private func message(_ answer: PaymentAnswer) -> Message {
    Message(topic: topics.paid(by: settings.name), payload: answer.payload)
  }

  private func publish(_ messages: [Message]) async {
    guard !messages.isEmpty else { return }
    do throws(BrokerError) { try await broker.publish(messages) } catch {
      screen.print("\(error)")
    }
    await broker.acknowledge()
  }
}
