package import InMemoryBroker
import KioskCore
import KioskProtocol

/// The events of one kiosk, from its first start to the end. A seed always yields the same
/// schedule.
///
/// ```swift
/// let schedule = Schedule(seed: 42)
/// print(schedule.rules.behavior)  // the simulated broker: mosquitto or ejabberd
/// for step in schedule.steps { print(step) }  // 9 to 48 steps; the first is "the kiosk starts"
/// try Simulation.run(schedule)
/// ```
package struct Schedule: Sendable {
  package let seed: UInt64
  package var rules: Rules
  package var steps: [Step]

  /// The broker's behavior and the kiosk's settings, which do not change during a schedule.
  package struct Rules: Sendable {
    package var behavior: MemoryBroker.Behavior
    /// Debounce window in milliseconds.
    package var debounce: Int
    /// Maximum number of commands of one sender per second; 0 for no limit.
    package var perSecond: Int
    /// Maximum number of deliveries in a batch.
    package var batchLimit: Int
    /// Number of machines that make juices, and of devices at which customers pay.
    package var machines, terminals: Int
    /// Whether the machines have programs.
    package var hasPrograms: Bool
    /// Whether fruit has dates.
    package var hasDates: Bool
    /// Whether a sensor measures the refrigerator.
    package var hasSensors: Bool
    /// Whether the kiosk has opening hours.
    package var hasHours: Bool

    package init(
      behavior: MemoryBroker.Behavior = .mosquitto, debounce: Int = 0, perSecond: Int = 0,
      batchLimit: Int = 1024, machines: Int = 0, terminals: Int = 0,
      hasPrograms: Bool = false, hasDates: Bool = false, hasSensors: Bool = false,
      hasHours: Bool = false
    ) {
      self.hasPrograms = hasPrograms
      self.hasDates = hasDates
      self.hasSensors = hasSensors
      self.hasHours = hasHours
      self.behavior = behavior
      self.debounce = debounce
      self.perSecond = perSecond
      self.batchLimit = batchLimit
      self.machines = machines
      self.terminals = terminals
    }

    /// Whether the broker keeps messages for a machine that is offline.
    var keepsSession: Bool { machines % 2 == 0 }

    var makers: [MachineConfiguration] {
      MachineConfiguration.all.prefix(machines).map { maker in
        var maker = maker
        if !hasPrograms { maker.programs = [:] }
        if !hasHours { maker.programs = maker.programs.mapValues(\.withoutHours) }
        return maker
      }
    }
  }

  /// The brokers whose behavior is simulated.
  static let behaviors: [MemoryBroker.Behavior] = [.mosquitto, .ejabberd]

  package init(seed: UInt64) {
    var maker = Maker(random: Random(seed: seed))
    self.seed = seed
    maker.mayHavePrograms = seed.isMultiple(of: 3)
    maker.hasDates = seed.isMultiple(of: 5)
    maker.hasSensors = seed.isMultiple(of: 7)
    maker.hasHours = seed.isMultiple(of: 4)
    rules = maker.rules()
    steps = [.start] + (0..<(8 + maker.random.below(40))).map { _ in maker.step() }
  }

  package init(seed: UInt64, rules: Rules, steps: [Step]) {
    (self.seed, self.rules, self.steps) = (seed, rules, steps)
  }
}

extension Schedule {
  /// The seed and the rules in one line.
  var title: String {
    var title = "Seed \(seed), \(rules.behavior), batches of \(rules.batchLimit)"
    if rules.debounce > 0 { title += ", debounce \(rules.debounce) ms" }
    if rules.machines > 0 { title += ", machines: \(rules.machines)" }
    if rules.hasPrograms { title += ", programs" }
    if rules.hasDates { title += ", dates" }
    if rules.hasSensors { title += ", a sensor" }
    if rules.hasHours { title += ", hours" }
    if rules.terminals > 0 { title += ", payment devices: \(rules.terminals)" }
    if rules.perSecond > 0 { title += ", \(rules.perSecond) per second" }
    return title
  }
}

/// Draws a schedule. It first draws which kinds of disturbances the schedule has at all, so that
/// rare combinations of few kinds occur without the others.
private struct Maker {
  var random: Random
  private let disturbances: [Disturbance]
  private var ids = 0
  private var recent: [Sending] = []
  private var machines = 0
  private var terminals = 0
  /// Whether machines have programs, if there are machines.
  var mayHavePrograms = false
  /// Whether fruit has dates.
  var hasDates = false
  /// Whether a sensor measures the refrigerator.
  var hasSensors = false
  /// Whether the kiosk has opening hours.
  var hasHours = false
  private var hasPrograms: Bool { mayHavePrograms && machines > 0 }

  private enum Disturbance: CaseIterable {
    case network, process, broker, disk, clock, junk, reload, machine, terminal
  }

  init(random: Random) {
    var random = random
    disturbances = Disturbance.allCases.filter { _ in random.oneIn(2) }
    self.random = random
  }

  mutating func rules() -> Schedule.Rules {
    machines = random.pick([0, 0, 1, 2, 3])
    terminals = random.pick([0, 0, 1, 1, 2])
    return Schedule.Rules(
      behavior: random.pick(Schedule.behaviors), debounce: random.pick([0, 0, 300]),
      perSecond: random.pick([0, 0, 3]), batchLimit: random.pick([1, 2, 1024]), machines: machines,
      terminals: terminals, hasPrograms: hasPrograms, hasDates: hasDates,
      hasSensors: hasSensors, hasHours: hasHours)
  }

  mutating func step() -> Step {
    // Occasionally more messages than the ledger keeps fingerprints.
    if random.oneIn(100_000) { return .flood(1_200) }
    if hasSensors, random.oneIn(3) {
      return .measure(
        random.pick(["9", "9", "10", "8", "9", "4", "7", "warm", "400"]),
        isRetained: random.oneIn(10))
    }
    if !disturbances.isEmpty, random.oneIn(2) { return disturbance(random.pick(disturbances)) }
    if random.oneIn(4) {
      return .pass(random.pick([10, 100, 400, 1_000, 3_000, 12_000, 29_000, 31_000, 70_000]))
    }
    let count = random.oneIn(3) ? 2 + random.below(5) : 1
    return .send((0..<count).map { _ in sending() })
  }

  private mutating func disturbance(_ disturbance: Disturbance) -> Step {
    switch disturbance {
    case .network:
      switch random.below(8) {
      case 0: return .cutKiosk
      case 1: return .cutDisplay
      default:
        return .breakConnection(
          random.pick(MemoryBroker.Fault.Moment.allCases),
          random.pick(MemoryBroker.Fault.Step.allCases), skipping: random.below(6))
      }
    case .process:
      switch random.below(8) {
      case 0: return .stop
      case 1...3: return .crash(after: random.oneIn(3) ? 0 : random.below(16))
      default: return .start
      }
    case .broker:
      switch random.below(7) {
      case 0: return .loseSession
      case 1: return .saveBroker
      case 2: return .stopBroker
      default:
        return .startBroker(random.pick([.everything, .everything, .lastSave, .nothing]))
      }
    case .disk: return random.oneIn(3) ? .failDisk : .repairDisk
    case .machine:
      return machines == 0 ? .start : .machine(random.below(machines), event())
    case .terminal:
      return terminals == 0 ? .start : .terminal(random.below(terminals), terminalEvent())
    case .reload: return .reload(random.pick(ConfigurationVariant.allCases))
    case .clock:
      return .jump(random.pick([-1, 1, -40, 40]) * random.pick([1, 1, 90, 2_160, 15_120]))
    case .junk:
      if random.oneIn(4) { return .clearRetained(from: random.pick(["order/p1", "order/p3"])) }
      var sending = sending()
      if random.oneIn(2) {
        sending.isRetained = true
      } else {
        sending.content = .junk(random.pick(["{", "", "strawberry banana", #"{"juice":7}"#]))
        sending.id = nil
      }
      return .send([sending])
    }
  }

  private mutating func event() -> Step.MachineEvent {
    switch random.below(12) {
    case 0: return .powerOff
    case 1...3: return .powerOn
    case 4: return .cut
    case 5:
      return .breakConnection(
        random.pick(MemoryBroker.Fault.Moment.allCases),
        random.pick(MemoryBroker.Fault.Step.allCases), skipping: random.below(3))
    case 6: return .fault(random.oneIn(2) ? "no cups" : nil)
    case 7:
      return random.oneIn(3)
        ? .eraseFlash
        : .strayAnswer(
          random.pick(["started", "done", "failed", "cancelled", "unknown"]), of: random.below(4))
    case 8, 9: return .malfunction(.crash(random.pick(Machine.Moment.allCases)))
    default:
      return .malfunction(
        random.pick([
          .fails(tellsUsed: true), .fails(tellsUsed: false), .fails(tellsUsed: false), .stalls,
          .falseDone, .falseCancelled, .repeats, .isLate,
        ]))
    }
  }

  private mutating func terminalEvent() -> Step.TerminalEvent {
    switch random.below(16) {
    case 0: return .powerOff
    case 1, 2: return .powerOn
    case 3: return .cut
    case 4: return random.oneIn(4) ? .invents(1 + random.below(3)) : .publishAgain(random.below(4))
    case 5:
      return .breakConnection(
        random.pick(MemoryBroker.Fault.Moment.allCases),
        random.pick(MemoryBroker.Fault.Step.allCases), skipping: random.below(3))
    case 6: return random.oneIn(2) ? .endDay : .fault(random.oneIn(2) ? "no paper" : nil)
    case 7: return .ends(random.oneIn(3) ? .captured : .released)
    case 8, 9: return .malfunction(.crash(random.pick(Terminal.Moment.allCases)))
    default:
      return .malfunction(
        random.pick([
          .declines, .leaves, .presents, .holdsMore, .keepsHold, .losesHold, .keepsMoney,
          .isUncertain(executes: true), .isUncertain(executes: false), .isSilent, .repeats, .isLate,
          .expires,
        ]))
    }
  }

  /// Draws a restock with a date, or a removal.
  private mutating func dated() -> Sending {
    let fruit = random.pick(["banana", "banana", "kiwi", "mango", "orange"])
    var sending = Sending(
      from: random.pick(["restock/desk", "restock/shop"]),
      content: random.oneIn(3)
        ? .remove(fruit: fruit, amount: random.pick([nil, nil, 1, 12]))
        : .bring(
          fruit: fruit, amount: random.pick([1, 3, 20]),
          seconds: random.pick([-5, 1, 5, 20, 40, 90, 400, 90_000])))
    if !random.oneIn(8) {
      ids += 1
      sending.id = "a\(ids)"
    }
    recent = recent.suffix(4) + [sending]
    return sending
  }

  private mutating func sending() -> Sending {
    if let again = recent.last, random.oneIn(6) {
      return random.oneIn(2) ? again : random.pick(recent)
    }
    var sending: Sending
    if terminals > 0, random.oneIn(8) {
      let pick = random.below(4)
      // The journal's words, or words that no person may send.
      sending = Sending(
        from: "job/desk",
        content: .settle(random.oneIn(8) ? "refund" : nil, pick: pick))
      recent = recent.suffix(4) + [sending]
      return sending
    }
    if hasDates, random.oneIn(4) { return dated() }
    if hasSensors, random.oneIn(8) {
      sending = Sending(
        from: "job/desk", content: .judge(random.pick(["discard", "release", "release"])))
      recent = recent.suffix(4) + [sending]
      return sending
    }
    switch random.below(machines > 0 ? hasPrograms ? 14 : 12 : 10) {
    case 12, 13:
      sending = Sending(
        from: "program/desk",
        content: .run(random.pick(MachineProgram.allCases), on: random.pick(["bar", "arm", "tap"])))
    case 10, 11:
      sending = Sending(
        from: "job/desk",
        content: .decide(
          random.pick(["poured", "again", "give_back"]), pick: random.below(4),
          used: random.pick([nil, nil, 0, 1, 50])))
    case 0:
      sending = Sending(from: "service/desk", content: .service(isOpen: !random.oneIn(3)))
    case 1, 2:
      let fruit = random.pick([
        "strawberry", "banana", "kiwi", "mango", "pineapple", "orange", "durian",
      ])
      let change: Sending.Change =
        random.oneIn(3)
        ? .set(random.pick([0, 10, 30, 100, 101, -1])) : .add(random.pick([-3, 1, 20, 60]))
      sending = Sending(
        from: random.pick(["restock/desk", "restock/shop"]),
        content: .restock(
          fruit: fruit, change: change,
          expecting: random.pick([.nothing, .whatIsShown, .whatIsShown, .somethingElse])))
    default:
      let juice =
        random.oneIn(20)
        ? "tea"
        : random.pick([
          "banana", "banana", "kiwi", "strawberry_banana", "mango_kiwi", "orange",
        ])
      sending = Sending(
        from: random.pick(["order/p1", "order/p2", "order/p3", "order/p4"]),
        content: .order(juice: juice, quantity: random.oneIn(8) ? random.pick([0, 2, 3, 11]) : 1))
    }
    // Two panels send ids, two do not.
    if !["order/p3", "order/p4"].contains(sending.from), !random.oneIn(8) {
      ids += 1
      sending.id = "a\(ids)"
    }
    if random.oneIn(6) { sending.sentAgo = random.pick([0, 5, 25, 29, 31, 4_000, -60]) }
    recent = recent.suffix(4) + [sending]
    return sending
  }
}
