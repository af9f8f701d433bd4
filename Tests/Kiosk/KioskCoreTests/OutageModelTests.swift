import Devices
import Foundation
import JuiceDomain
import KioskProtocol
import Ledger
import MessageBroker
import Testing

@testable import KioskCore

/// Random schedules of power cuts, clocks, silences and restarts, against a model that knows the true
/// time: no fruit is sold after its date, nor that was outside its limits, or unknown, for longer
/// than its limit. `OUTAGE_SCHEDULES` is their number, and `OUTAGE_SEED` the first seed.
@Suite struct OutageModelTests {
  @Test func nothingIsSoldThatMayBeSpoiled() throws {
    let environment = ProcessInfo.processInfo.environment
    let first = environment["OUTAGE_SEED"].flatMap(UInt64.init) ?? 1
    let count = environment["OUTAGE_SCHEDULES"].flatMap(UInt64.init) ?? 150
    var sold = 0
    for seed in first..<first + count {
      var world = try OutageWorld(seed: seed)
      for _ in 0..<40 where world.violation == nil { try world.step() }
      sold += world.sold
      try #require(
        world.violation == nil,
        "OUTAGE_SEED=\(seed) \(world.violation ?? "")\n\(world.trace.joined(separator: "\n"))")
    }
    print("OUTAGE_SEED=\(first) OUTAGE_SCHEDULES=\(count): \(sold) orders of dated fruit sold")
    // Schedules that sell nothing prove nothing.
    #expect(sold > count / 2)
  }
}

/// A kiosk, and what is true about its fruit.
private struct OutageWorld {
  private static let blockAfter = Duration.seconds(3_600)
  private static let silentAfter = Duration.seconds(1_800)
  private static let keeps = 10
  /// The ledger stores readings once a minute, so that a power cut loses the last ones.
  private static let slack = Duration.seconds(75)

  private let kiosk: TestKiosk
  private var random: Dice
  /// The true time since the start.
  private var now = Duration.zero
  /// The true time at which each batch expires.
  private var expiries: [BatchID: Duration] = [:]
  // What the readings that arrived show.
  private var readAt = Duration.zero
  private var outsideSince: Duration?
  private var wasOff = false
  private var needsPerson = false

  private(set) var sold = 0
  private(set) var trace: [String] = []
  private(set) var violation: String?

  init(seed: UInt64) throws {
    random = Dice(state: seed)
    let fruits = Menu.standard.fruits.map { fruit in
      let isKept = ["kiwi", "strawberry"].contains(fruit.id)
      return Fruit(id: fruit.id, name: fruit.name, keepsHours: isKept ? Self.keeps : nil)
    }
    var settings = KioskSettings.test(menu: try Menu(fruits: fruits, juices: Menu.standard.juices))
    settings.sensors = [
      KioskSettings.Sensor(
        name: "fridge", binding: SensorBinding(topic: "t/fridge"), unit: .celsius, maximum: 7000,
        blockAfter: Self.blockAfter, silentAfter: Self.silentAfter, fruits: ["kiwi", "mango"])
    ]
    kiosk = try TestKiosk(settings: settings, stock: ["kiwi": 9, "strawberry": 60, "mango": 9])
    for fruit in ["kiwi", "strawberry"] as [Fruit.ID] {
      expiries[BatchID(fruit: fruit, number: 1)] = .seconds(Self.keeps * 3_600)
    }
    // Some kiosks begin with a clock that is days behind.
    if random.below(4) == 0 {
      try cut(.seconds(5))
    } else {
      try kiosk.cutPower(for: .zero, hasClock: true)
    }
    try read(4)
  }

  /// The wall clock, if it is right.
  private var today: Int64 { TestKiosk.start.milliseconds + now.milliseconds }

  mutating func step() throws {
    switch random.below(20) {
    case 0...3: try pass(.seconds(random.pick([1, 20, 300, 1_700, 2_000, 3_700, 6_000])))
    case 4...7: try read(random.pick([4, 4, 5, 6, 9, 13]))
    case 8...12: try order(random.pick(["kiwi", "strawberry", "mango", "strawberry_banana"]))
    case 13, 14: try restock()
    case 15, 16: try cut(.seconds(random.pick([10, 600, 1_800, 4_000, 9_000, 18_000, 50_400])))
    case 17:
      trace.append("the network's time")
      kiosk.receiveNetworkTime()
      try receive([])
    case 18:
      trace.append("the kiosk restarts")
      loseReadings()
      try kiosk.restart()
    default: try decide()
    }
  }

  private mutating func pass(_ time: Duration) throws {
    trace.append("\(time) pass")
    // The ledger stores the last readings.
    for part in [min(time, .seconds(71)), max(.zero, time - .seconds(71))] {
      kiosk.pass(part)
      now += part
      if kiosk.isDue { try receive([]) }
    }
  }

  /// Without its readings of the last minute, the kiosk does not know that they were outside.
  private mutating func loseReadings() {
    if let since = outsideSince, now - since <= Self.slack { outsideSince = nil }
  }

  private mutating func cut(_ time: Duration) throws {
    let hasClock = random.below(2) == 0
    let behind: Int64 = hasClock ? 0 : random.pick([0, 0, 60, 3_000, 200_000, 1_700_000_000])
    trace.append("no power for \(time), \(hasClock ? "with a clock" : "\(behind) s behind")")
    loseReadings()
    now += time
    wasOff = true
    // A hardware clock gives the right time.
    if hasClock { kiosk.receiveNetworkTime() }
    try kiosk.cutPower(for: time, hasClock: hasClock, behind: behind)
  }

  private mutating func restock() throws {
    let fruit: Fruit.ID = random.pick(["kiwi", "strawberry", "mango"])
    var payload = #"{"add":{"\#(fruit)":20}"#
    var expiry: Duration? = fruit == "mango" ? nil : now + .seconds(Self.keeps * 3_600)
    if random.below(2) == 0 {
      let hours = Duration.seconds(3_600 * random.pick([1, 3, 9, 30]))
      let date = Timestamp(milliseconds: today + hours.milliseconds)
      payload += #","best_before":{"\#(fruit)":"\#(date)"}"#
      expiry = min(expiry ?? now + hours, now + hours)
    }
    trace.append(payload)
    let decision = try receive([.restock(payload + "}")])
    for record in decision.transaction.records {
      for change in record.row.entry.batches where change.amount > 0 {
        expiries[change.id] = expiry
      }
    }
  }

  private mutating func read(_ value: Int) throws {
    trace.append("\(value) °C")
    let gap = now - readAt
    let limit = wasOff ? min(Self.blockAfter, Self.silentAfter) : Self.silentAfter
    if value > 7 {
      outsideSince = outsideSince ?? (gap > limit + Self.slack ? readAt : now)
    } else {
      let longest = max(Self.blockAfter, .seconds(4 * 3_600))
      if mayBeWarm || gap > longest + Self.slack { needsPerson = true }
      outsideSince = nil
    }
    (readAt, wasOff) = (now, false)
    try receive([
      Delivery(message: Message(topic: "t/fridge", payload: Array("\(value)".utf8)), packetID: 0)
    ])
  }

  private var mayBeWarm: Bool {
    outsideSince.map { now - $0 > Self.blockAfter + Self.slack } ?? false
  }

  /// The reason for which what the sensor protects must not be sold, or `nil` if it may be.
  private var danger: String? {
    if needsPerson { return "a person must decide" }
    if mayBeWarm { return "warm since \(outsideSince as Any)" }
    let limit = wasOff ? Self.blockAfter : Self.blockAfter + Self.silentAfter
    return now - readAt > limit + Self.slack ? "unknown since \(readAt)" : nil
  }

  private mutating func order(_ juice: String) throws {
    trace.append("\(juice)?")
    try receive([.order(juice)])
  }

  /// A person decides: about the fridge, after a look at the fruit; about the clock only if it is right.
  private mutating func decide() throws {
    let isRight = abs(kiosk.now.timestamp.milliseconds - today) < 1_000
    let sensor = random.below(2) == 0 ? "fridge" : isRight ? "clock" : "fridge"
    let decision = try receive([
      .message(
        #"{"sensor":"\#(sensor)","decision":"release","word":"looked"}"#, on: "job/anna")
    ])
    guard try decision.statuses == [.applied] else { return }
    trace.append("\(sensor) is released")
    if sensor == "fridge" {
      (needsPerson, wasOff, readAt) = (false, false, now)
      outsideSince = outsideSince.map { _ in now }
    }
  }

  @discardableResult
  private mutating func receive(_ deliveries: [Delivery]) throws -> Decision {
    let decision = try kiosk.receive(deliveries)
    for record in decision.transaction.records where record.row.entry.status == .ready {
      let entry = record.row.entry
      if entry.changes["kiwi"] ?? 0 < 0 || entry.changes["mango"] ?? 0 < 0, let danger {
        violation = violation ?? "\(entry.outcome) is sold: \(danger), it is \(now)"
      }
      for change in entry.batches where change.amount < 0 {
        sold += 1
        if let expiry = expiries[change.id], expiry + .seconds(1) < now {
          violation = violation ?? "\(change) is sold, expired \(expiry), it is \(now)"
        }
      }
    }
    return decision
  }
}
