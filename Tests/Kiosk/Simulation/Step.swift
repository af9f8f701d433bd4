package import InMemoryBroker
import KioskCore
package import KioskProtocol

/// One event of a schedule.
package enum Step: Hashable, Sendable {
  /// Messages that clients send at the same moment.
  case send([Sending])
  /// Number of presses of one button for a juice that is not on the menu, sent without a pause.
  case flood(Int)
  /// A message of the sensor in the refrigerator: its temperature in degrees, if it is a number.
  case measure(String, isRetained: Bool)
  /// The passage of time, in milliseconds.
  case pass(Int)
  /// A change of the kiosk's wall clock, in seconds ahead or, if negative, back.
  case jump(Int)
  case cutKiosk
  case cutDisplay
  /// A connection failure of the kiosk at a step of its work.
  case breakConnection(MemoryBroker.Fault.Moment, MemoryBroker.Fault.Step, skipping: Int)
  /// The end of the kiosk's process after a number of calls to its connection; 0 means now.
  case crash(after: Int)
  case start
  /// A new configuration, which a running kiosk reads as on SIGHUP.
  case reload(ConfigurationVariant)
  /// An orderly stop, as by SIGTERM.
  case stop
  case loseSession
  case stopBroker
  case saveBroker
  case startBroker(MemoryBroker.Persistence)
  /// The failure of all further writes to the ledger, until `repairDisk`.
  case failDisk
  case repairDisk
  /// The removal of the retained message on a sender's topic.
  case clearRetained(from: String)
  /// An event of a machine, by its number from 0.
  case machine(Int, MachineEvent)
  /// An event of a payment device, by its number from 0.
  case terminal(Int, TerminalEvent)

  package enum MachineEvent: Hashable, Sendable {
    case powerOff, powerOn, cut, eraseFlash
    /// The reason why the machine cannot work, or `nil` if it can.
    case fault(String?)
    case breakConnection(MemoryBroker.Fault.Moment, MemoryBroker.Fault.Step, skipping: Int)
    /// An answer with a status for the entry at a distance before the last one.
    case strayAnswer(String, of: Int)
    case malfunction(Machine.Malfunction)
  }

  package enum TerminalEvent: Hashable, Sendable {
    case powerOff, powerOn, cut
    /// The reason why the device cannot work, or `nil` if it can.
    case fault(String?)
    case breakConnection(MemoryBroker.Fault.Moment, MemoryBroker.Fault.Step, skipping: Int)
    /// The device publishes the state of a charge again: the last one, or one before it.
    case publishAgain(Int)
    /// The device says that it holds money for a charge that it never got.
    case invents(Int)
    /// A held charge is given back or captured at the terminal itself, by its limit or by a person.
    case ends(Terminal.State)
    case endDay
    case malfunction(Terminal.Malfunction)
  }
}

/// A message that a client sends to the kiosk.
package struct Sending: Hashable, Sendable {
  package enum Content: Hashable, Sendable {
    case order(juice: String, quantity: Int)
    case restock(fruit: String, change: Change, expecting: Expectation)
    /// A restock of fruit that expires a number of seconds from now, by the kiosk's clock.
    case bring(fruit: String, amount: Int, seconds: Int)
    /// Taking an amount of fruit out of the stock; `nil` is all that has expired.
    case remove(fruit: String, amount: Int?)
    case service(isOpen: Bool)
    /// A decision about a job; `used` is the amount of kiwis that the attempt used up.
    case decide(String, pick: Int, used: Int?)
    /// A request to run a program of a machine.
    case run(MachineProgram, on: String)
    /// A decision about what the sensor has blocked.
    case judge(String)
    /// A decision about a charge; `nil` is what the journal of its device says.
    case settle(String?, pick: Int)
    /// A payload that is not a command.
    case junk(String)
  }

  package enum Change: Hashable, Sendable {
    case add(Int)
    case set(Int)
  }

  /// The `expect` value of a restock: none, the stock that a display shows, or a wrong one.
  package enum Expectation: Hashable, Sendable { case nothing, whatIsShown, somethingElse }

  /// The kind and the name of the sender, such as `order/p1`.
  package var from: String
  package var id: String?
  package var content: Content
  /// Age of the message in seconds, or `nil` from a sender without a clock.
  package var sentAgo: Int?
  package var isRetained: Bool

  package init(
    from: String, id: String? = nil, content: Content, sentAgo: Int? = nil, isRetained: Bool = false
  ) {
    self.from = from
    self.id = id
    self.content = content
    self.sentAgo = sentAgo
    self.isRetained = isRetained
  }
}

extension Step: CustomStringConvertible {
  package var description: String {
    switch self {
    case .send(let sendings): sendings.map(\.description).joined(separator: "; ")
    case .flood(let count): "order/p4: 1 tea, \(count) times"
    case .measure(let value, let isRetained):
      "the sensor says \(value)\(isRetained ? ", retained" : "")"
    case .pass(let milliseconds): "\(Double(milliseconds) / 1000) s pass"
    case .jump(let seconds): "the clock jumps by \(seconds) s"
    case .cutKiosk: "the kiosk's connection is cut"
    case .cutDisplay: "the display's connection is cut"
    case .breakConnection(let moment, let step, let skipping):
      "the kiosk's connection will break \(moment) \(step) number \(skipping + 1)"
    case .crash(let count):
      count == 0 ? "the kiosk crashes" : "the kiosk will crash at call \(count)"
    case .start: "the kiosk starts"
    case .reload(let variant): "the configuration says: \(variant)"
    case .stop: "the kiosk is stopped"
    case .loseSession: "the broker loses the kiosk's session"
    case .stopBroker: "the broker stops"
    case .saveBroker: "the broker saves"
    case .startBroker(let memory): "the broker starts, remembering \(memory)"
    case .failDisk: "the disk fails"
    case .repairDisk: "the disk works again"
    case .machine(let number, let event):
      "machine \(MachineConfiguration.all[number].name): \(event)"
    case .terminal(let number, let event): "\(Terminal.all(2)[number]): \(event)"
    case .clearRetained(let from): "what \(from) has retained is cleared"
    }
  }
}

extension Sending: CustomStringConvertible {
  package var description: String {
    var text = "\(from)\(id.map { " #\($0)" } ?? ""): "
    switch content {
    case .order(let juice, let quantity): text += "\(quantity) \(juice)"
    case .restock(let fruit, .add(let amount), _):
      text += "\(fruit) \(amount < 0 ? "" : "+")\(amount)"
    case .restock(let fruit, .set(let amount), _): text += "\(fruit) = \(amount)"
    case .bring(let fruit, let amount, let seconds):
      text += "\(fruit) +\(amount), expires in \(seconds) s"
    case .remove(let fruit, let amount):
      text += "takes out \(amount.map(String.init) ?? "expired") \(fruit)"
    case .service(let isOpen): text += isOpen ? "open" : "closed"
    case .decide(let choice, let pick, let used):
      text += "\(choice), job \(pick)\(used.map { ", used \($0)" } ?? "")"
    case .run(let program, let machine): text += "\(program.rawValue) of \(machine)"
    case .judge(let choice): text += "\(choice) what is blocked"
    case .settle(let choice, let pick): text += "\(choice ?? "a decision"), charge \(pick)"
    case .junk(let junk): text += "junk \(junk)"
    }
    if case .restock(_, _, let expecting) = content, expecting != .nothing {
      text += ", expecting \(expecting == .whatIsShown ? "what is shown" : "something else")"
    }
    if let sentAgo { text += ", sent \(sentAgo) s ago" }
    if isRetained { text += ", retained" }
    return text
  }
}
