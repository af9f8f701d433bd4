package import InMemoryBroker
import KioskCore

/// One thing that happens in the world.
package enum Step: Hashable, Sendable {
  /// What people send at the same moment.
  case send([Sending])
  /// So many presses of one button that cannot count, as fast as they come.
  case flood(Int)
  /// So many milliseconds pass.
  case pass(Int)
  /// The kiosk's wall clock is set, by so many seconds ahead or back.
  case jump(Int)
  case cutKiosk
  case cutDisplay
  /// The kiosk's connection will break at a step of its work.
  case breakConnection(MemoryBroker.Fault.Moment, MemoryBroker.Fault.Step, skipping: Int)
  /// The kiosk's process dies after so many more dealings with its connection; 0: now.
  case crash(after: Int)
  case start
  /// The configuration is another now, and a kiosk that runs is told so, as by SIGHUP.
  case reload(ConfigurationVariant)
  /// As by SIGTERM.
  case stop
  case loseSession
  case stopBroker
  case saveBroker
  case startBroker(MemoryBroker.Persistence)
  /// From now on the disk refuses what is written to the ledger.
  case failDisk
  case repairDisk
  /// What was retained on this sender's topic is cleared.
  case clearRetained(from: String)
  /// Something happens to the machine of this number, from 0.
  case machine(Int, MachineEvent)

  package enum MachineEvent: Hashable, Sendable {
    case powerOff, powerOn, cut, eraseFlash
    /// Why it cannot work; `nil`: it can.
    case fault(String?)
    case breakConnection(MemoryBroker.Fault.Moment, MemoryBroker.Fault.Step, skipping: Int)
    /// It says so of the entry that came so many before the last one.
    case strayAnswer(String, of: Int)
    case malfunction(Machine.Malfunction)
  }
}

/// A message that somebody sends to the kiosk.
package struct Sending: Hashable, Sendable {
  package enum Content: Hashable, Sendable {
    case order(juice: String, quantity: Int)
    case restock(fruit: String, change: Change, expecting: Expectation)
    case service(isOpen: Bool)
    /// About a job that displays show, or would; `used` is of each fruit of the order.
    case decide(String, pick: Int, used: Int?)
    /// No command at all.
    case junk(String)
  }

  package enum Change: Hashable, Sendable {
    case add(Int)
    case set(Int)
  }

  /// Of the stock: nothing, what a display shows now, or something else.
  package enum Expectation: Hashable, Sendable { case nothing, whatIsShown, somethingElse }

  /// `order/p1`
  package var from: String
  package var id: String?
  package var content: Content
  /// In seconds; `nil` from a sender without a clock.
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
    case .service(let isOpen): text += isOpen ? "open" : "closed"
    case .decide(let choice, let pick, let used):
      text += "\(choice), job \(pick)\(used.map { ", used \($0)" } ?? "")"
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
