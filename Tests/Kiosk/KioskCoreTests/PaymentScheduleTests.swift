import Foundation
import JuiceDomain
import KioskProtocol
import Ledger
import MessageBroker
import Testing

@testable import KioskCore

/// Random schedules of orders, payments, machines and failures, after which ledger and device must
/// agree to the cent.
///
/// `PAYMENT_SCHEDULES` is the number of schedules, `PAYMENT_SEED` the first seed.
@Suite struct PaymentScheduleTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let first = environment["PAYMENT_SEED"].flatMap(UInt64.init) ?? 1
  private static let count = environment["PAYMENT_SCHEDULES"].flatMap(UInt64.init) ?? 150

  @Test func moneyIsConserved() throws {
    var captured = 0
    for seed in Self.first..<Self.first + Self.count {
      let schedule = try PaymentSchedule(seed: seed)
      let flaw: String?
      do { flaw = try schedule.run() } catch { flaw = "\(error)" }
      if let flaw {
        Issue.record("PAYMENT_SEED=\(seed): \(flaw)\n\(schedule.trace.joined(separator: "\n"))")
        return
      }
      captured += schedule.captured
    }
    #expect(captured > 0 || Self.count == 1, "no charge was captured")
  }
}

/// A device written from the contract: its journal is the money that moved.
private struct Device {
  enum State: String { case waiting, held, declined, captured, released, refunded, unknown }

  var states: [Int: State] = [:]
  var amounts: [Int: Int] = [:]
  var last = 0
  /// The terminal's actions on charges about which the device cannot say anything now.
  var hidden: [Int: State] = [:]
  var captured: [Int: Int] = [:]
  var refunded: [Int: Int] = [:]
  var declineReason: [Int: String] = [:]

  var prompt: Int? { states.first { $0.value == .waiting }?.key }

  mutating func set(_ charge: Int, _ state: State, _ amount: Int? = nil) {
    states[charge] = state
    last = max(last, charge)
    if let amount { amounts[charge] = amount }
    if state == .captured { captured[charge, default: 0] += amounts[charge] ?? 0 }
    if state == .refunded { refunded[charge, default: 0] += amounts[charge] ?? 0 }
  }

  /// Returns the answer, or `nil` if a busy device gives none.
  ///
  /// - Parameter fails: Whether the terminal executes the request and the device does not learn of
  ///   it.
  mutating func receive(_ message: Message, fails: Bool) -> String? {
    guard let json = try? JSON.parse(message.payload), let charge = json.integer("charge") else {
      return nil
    }
    let action = message.topic.split(separator: "/").dropFirst(4).first.map(String.init)
    let isNew = charge > last
    if fails, action == "capture" || action == "refund", hidden[charge] == nil {
      if action == "capture", states[charge] == .held {
        set(charge, .captured, min(json.integer("amount") ?? 0, amounts[charge] ?? 0))
        hidden[charge] = .captured
      } else if action == "refund", states[charge] == .captured {
        set(charge, .refunded)
        hidden[charge] = .refunded
      }
    }
    switch (action, states[charge]) {
    case _ where hidden[charge] != nil: break
    case (nil, _) where isNew:
      guard prompt == nil else { return nil }
      set(charge, .waiting, json.integer("amount"))
    case ("capture", .held):
      set(charge, .captured, min(json.integer("amount") ?? 0, amounts[charge] ?? 0))
    case ("capture", nil) where isNew: set(charge, .unknown)
    case ("release", .held), ("release", .waiting): set(charge, .released)
    case ("release", nil) where isNew: set(charge, .released)
    case ("refund", .captured): set(charge, .refunded)
    default: break
    }
    return answer(charge)
  }

  func answer(_ charge: Int) -> String {
    let state = hidden[charge] == nil ? states[charge] ?? .unknown : .unknown
    let hasMoney = state == .held || state == .captured || state == .refunded
    let money = hasMoney ? #","amount":\#(amounts[charge] ?? 0),"currency":"EUR""# : ""
    return #"{"charge":\#(charge),"status":"\#(state.rawValue)"\#(money)}"#
  }
}

private final class PaymentSchedule {
  private let kiosk: TestKiosk
  private var dice: Dice
  private var device = Device()
  private var toKiosk: [Delivery] = []
  private var toDevice: [Message] = []
  /// Jobs that the machine has begun, by their numbers, and the last one.
  private var running: [Int: Int] = [:]
  private var lastJob = 0
  /// Whether the kiosk may send a capture or a refund of a charge: it has not, or was answered.
  private var isAsked: Set<String> = []
  private(set) var trace: [String] = []
  /// The number of charges that were captured.
  var captured: Int { device.captured.count }
  /// The charges that a person has settled against what was made.
  private var accepted: Set<Int> = []
  private var flaw: String?
  private let hasMachine: Bool

  init(seed: UInt64) throws {
    dice = Dice(state: seed)
    hasMachine = !dice.oneIn(3)
    var settings = try PaymentTests.settings(isPoured: hasMachine)
    if hasMachine { settings.machines[0].finishLimit = .seconds(30) }
    kiosk = try TestKiosk(settings: settings, stock: ["kiwi": 60, "banana": 60, "mango": 60])
    send("online", on: "payment/terminal/status")
    send("online", on: "machine/bar/status")
    try deliver(all: true)
  }

  private func send(_ payload: String, on topic: String) {
    trace.append("  > \(topic): \(payload)")
    toKiosk.append(.message(payload, on: topic))
  }

  private func answer(_ text: String) { send(text, on: "paid/terminal") }

  func run() throws -> String? {
    for _ in 0..<(15 + dice.below(50)) {
      try step()
      if let flaw { return flaw }
    }
    return try recover()
  }

  private func step() throws {
    switch dice.below(20) {
    case 0...3:
      let quantity = dice.oneIn(4) ? 2 : 1
      let juice = dice.oneIn(5) ? "banana" : "kiwi"
      send(#"{"juice":"\#(juice)","quantity":\#(quantity)}"#, on: "order/p\(dice.below(3))")
    case 4...8: try deliver(all: dice.oneIn(2))
    case 9, 10: processDevice()
    case 11, 12: customer()
    case 13: machine()
    case 14: try restart()
    case 15: pass([1, 5, 16, 46, 61, 400][dice.below(6)])
    case 16: powerCut()
    case 17: lose()
    case 18: try person()
    default:
      // A stray, late or repeated answer.
      if let charge = device.states.keys.sorted().last { answer(device.answer(charge)) }
    }
  }

  /// Delivers what the broker has for the kiosk, and sends what the kiosk requests.
  private func deliver(all: Bool) throws {
    let count = all ? toKiosk.count : min(toKiosk.count, 1 + dice.below(2))
    let batch = Array(toKiosk.prefix(count))
    toKiosk.removeFirst(count)
    for delivery in batch { noteAnswer(delivery) }
    try kiosk.receive(batch)
    for message in kiosk.messagesForPaymentDevices() {
      trace.append("  < \(message.topic.dropFirst(9)): \(text(message.payload))")
      checkRequest(message)
      toDevice.append(message)
    }
    for message in kiosk.messagesForMachines() {
      guard let json = try? JSON.parse(message.payload), let job = json.integer("job") else {
        continue
      }
      trace.append("  < \(message.topic.dropFirst(9)): \(text(message.payload))")
      let isNew = job > lastJob
      lastJob = max(lastJob, job)
      if isNew, message.topic.hasSuffix("cancel") {
        send(#"{"job":\#(job),"status":"cancelled"}"#, on: "made/bar")
      } else if isNew {
        running[job] = json.integer("quantity") ?? 1
        send(#"{"job":\#(job),"status":"started"}"#, on: "made/bar")
      } else {
        let status = running[job] == nil ? "unknown" : "started"
        send(#"{"job":\#(job),"status":"\#(status)"}"#, on: "made/bar")
      }
    }
  }

  /// Notes that the device has said what became of a capture or a refund.
  private func noteAnswer(_ delivery: Delivery) {
    guard delivery.message.topic.hasSuffix("paid/terminal"),
      let json = try? JSON.parse(delivery.message.payload), let charge = json.integer("charge")
    else { return }
    if json.text("status") == "held" { isAsked.remove("capture \(charge)") }
    if json.text("status") == "captured" { isAsked.remove("refund \(charge)") }
  }

  private func checkRequest(_ message: Message) {
    guard let json = try? JSON.parse(message.payload), let charge = json.integer("charge"),
      let action = message.topic.split(separator: "/").last,
      action == "capture" || action == "refund"
    else { return }
    if !isAsked.insert("\(action) \(charge)").inserted {
      flaw = "\(action) of \(charge) is repeated without an answer"
    }
  }

  private func processDevice() {
    guard !toDevice.isEmpty else { return }
    let message = toDevice.removeFirst()
    if let said = device.receive(message, fails: dice.oneIn(12)) { answer(said) }
  }

  private func customer() {
    guard let charge = device.prompt else { return }
    if dice.oneIn(6) {
      device.set(charge, .declined)
    } else if dice.oneIn(15) {
      // Another amount than asked for.
      device.set(charge, .held, (device.amounts[charge] ?? 0) + 10)
    } else {
      device.set(charge, .held)
    }
    answer(device.answer(charge))
  }

  private func machine() {
    guard let (job, quantity) = running.sorted(by: { $0.key < $1.key }).first else { return }
    running[job] = nil
    switch dice.below(5) {
    case 0: send(#"{"job":\#(job),"status":"failed","reason":"jam"}"#, on: "made/bar")
    case 1 where quantity > 1:
      send(#"{"job":\#(job),"status":"failed","reason":"jam","made":1}"#, on: "made/bar")
    case 2 where dice.oneIn(2): send(#"{"job":\#(job),"status":"unknown"}"#, on: "made/bar")
    default: send(#"{"job":\#(job),"status":"done"}"#, on: "made/bar")
    }
  }

  private func restart() throws {
    trace.append("the kiosk restarts")
    toDevice = []
    try kiosk.restart()
  }

  private func pass(_ seconds: Int) {
    trace.append("\(seconds) s pass")
    kiosk.pass(.seconds(seconds))
  }

  private func powerCut() {
    trace.append("the device loses its power")
    toDevice = []
    if let prompt = device.prompt { device.set(prompt, .declined) }
    send("offline", on: "payment/terminal/status")
    send("online", on: "payment/terminal/status")
    for (charge, state) in device.states.sorted(by: { $0.key < $1.key })
    where state == .held || state == .unknown || device.hidden[charge] != nil {
      answer(device.answer(charge))
    }
  }

  /// Loses what is on its way to the device, and sometimes also what is on its way to the kiosk.
  private func lose() {
    trace.append("the connection is lost")
    toDevice = []
    if dice.oneIn(3) { toKiosk = [] }
    kiosk.loseConnection()
  }

  /// Decides about a charge, as the journal of the terminal says; or refunds one.
  private func person() throws {
    let open = kiosk.core.charges.open
    if let charge = open.first(where: { $0.state == .undecided }) {
      decide(charge)
    } else if let paid = open.first(where: { $0.state == .captured }), dice.oneIn(2) {
      send(#"{"charge":\#(paid.number),"decision":"refund"}"#, on: "job/desk")
    }
    if let job = kiosk.core.jobs.open.first(where: \.state.isUndecided) {
      let choice = dice.oneIn(2) ? "poured" : "give_back"
      send(#"{"job":\#(job.number),"decision":"\#(choice)"}"#, on: "job/desk")
      running[job.number] = nil
    }
    try deliver(all: true)
  }

  private func decide(_ charge: Charge) {
    let number = charge.number
    let net = (device.captured[number] ?? 0) - (device.refunded[number] ?? 0)
    let choice: String
    if charge.captured != nil {
      choice =
        device.refunded[number] != nil
        ? "refunded" : dice.oneIn(2) || charge.sale == nil ? "refund" : "captured"
    } else if device.captured[number] != nil {
      choice = "captured"
    } else if device.states[number] == .held {
      choice = "release"
    } else {
      choice = "released"
    }
    if choice != "refund" && choice != "refunded" { accepted.insert(number) }
    trace.append("a person: \(number) \(choice), the terminal has \(net)")
    send(#"{"charge":\#(number),"decision":"\#(choice)"}"#, on: "job/desk")
  }

  // MARK: The end

  private func recover() throws -> String? {
    trace.append("everything is repaired")
    for round in 0..<200 {
      for charge in device.hidden.keys { device.hidden[charge] = nil }
      while !toDevice.isEmpty || !toKiosk.isEmpty {
        while !toDevice.isEmpty {
          if let said = device.receive(toDevice.removeFirst(), fails: false) { answer(said) }
        }
        try deliver(all: true)
        if let flaw { return flaw }
      }
      let open = kiosk.core.charges.open.filter { $0.state != .captured }
      if open.isEmpty, kiosk.core.jobs.open.isEmpty { return try check() }
      if round % 4 == 3 { powerCut() }
      while !running.isEmpty { machine() }
      customer()
      if round % 3 == 2 {
        if let charge = open.first(where: { $0.state == .undecided }) { decide(charge) }
        for job in kiosk.core.jobs.open where job.state.isUndecided {
          send(#"{"job":\#(job.number),"decision":"poured"}"#, on: "job/desk")
        }
      }
      pass(7)
      try deliver(all: true)
    }
    return "charges do not end: \(kiosk.core.charges.open.filter { $0.state != .captured })"
  }

  private func check() throws -> String? {
    try kiosk.ledger.verify()
    var captured: [Int: Int] = [:]
    var refunded: [Int: Int] = [:]
    var orders: [Int: (charge: Int, cents: Int)] = [:]
    var ends: [Int: Int] = [:]
    for (row, _, _) in try kiosk.ledger.rows(after: 0, limit: .max) {
      let (entry, cents) = (row.entry, row.entry.amount?.units ?? 0)
      switch entry.outcome {
      case .awaitingPayment(_, _, _, let charge, _): orders[entry.seq] = (charge, cents)
      case .payment(let step) where step.kind == .captured:
        captured[step.charge, default: 0] += cents
      case .payment(let step) where step.kind == .refunded:
        refunded[step.charge, default: 0] += cents
      case .made(let end), .failed(let end, _, _), .returned(let end, _, _):
        if ends[end.job] != nil { return "order \(end.job) ends twice" }
        ends[end.job] = cents
      default: break
      }
    }
    if captured != device.captured {
      return "the ledger has captured \(captured), the device \(device.captured)"
    }
    if refunded != device.refunded {
      return "the ledger has refunded \(refunded), the device \(device.refunded)"
    }
    for (charge, state) in device.states where state == .held || state == .waiting {
      return "charge \(charge) is \(state) at the end"
    }
    for (seq, order) in orders {
      guard let sold = ends[seq] else { return "order \(seq) has not ended" }
      let net = (captured[order.charge] ?? 0) - (refunded[order.charge] ?? 0)
      let isRefunded = refunded[order.charge] != nil && net == 0
      if net != sold, !isRefunded, !accepted.contains(order.charge) {
        return "order \(seq): \(sold) was made, and \(net) is captured"
      }
    }
    return nil
  }
}
