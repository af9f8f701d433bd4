import ArgumentParser
import Foundation
import InMemoryBroker
import JuiceDomain

/// Runs many kiosks in one process, each with the real core, ledger and uplink. They sell as the
/// roster says after the first line on standard input, and run until it ends.
///
/// Standard output consists of lines of JSON: the log messages of the uplinks, and once a second
/// the progress of those kiosks for which it has changed. Tests/Shared/EndToEnd/chain.py runs it.
@main
struct RunCrowd: AsyncParsableCommand {
  @Argument(help: "A file in JSON: see Roster.") var roster: String

  /// Duration of one turn, in milliseconds.
  private static let turn: Int32 = 20

  func run() async throws {
    let roster = try Roster(file: roster)
    let executor = ManualExecutor()
    let kiosks = try roster.kiosks.map { try CrowdKiosk($0, of: roster, on: executor) }
    for kiosk in kiosks { kiosk.start() }
    sell(roster, kiosks, executor)
    for kiosk in kiosks { kiosk.stop() }
    executor.run()
    for kiosk in kiosks { await kiosk.end() }
  }

  private enum Input { case nothing, line, end }

  private func sell(_ roster: Roster, _ kiosks: [CrowdKiosk], _ executor: ManualExecutor) {
    let start = ContinuousClock.now
    var chance = Chance(state: roster.seed)
    var customers = Array(kiosks.indices)
    var progress = Progress()
    var opening: Duration?
    var sold = 0
    while true {
      let now = ContinuousClock.now - start
      switch readInput() {
      case .end: return
      case .line: opening = opening ?? now
      case .nothing: break
      }
      for kiosk in kiosks { kiosk.advance(to: now) }
      executor.run()
      let due = opening.map { (now - $0) / .seconds(1) * Double(roster.pace) } ?? 0
      while !customers.isEmpty, Double(sold) < due {
        let place = Int.random(in: customers.indices, using: &chance)
        let kiosk = kiosks[customers[place]]
        let juice = Menu.standard.juices.randomElement(using: &chance)
        if let juice { kiosk.order(juice.id, quantity: .random(in: 1...3, using: &chance)) }
        executor.run()
        sold += 1
        if kiosk.sent >= roster.orders { customers.remove(at: place) }
      }
      progress.write(kiosks, at: now)
    }
  }

  /// Reads standard input, and waits for it for one turn at most.
  private func readInput() -> Input {
    var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
    guard poll(&input, 1, Self.turn) > 0 else { return .nothing }
    var bytes: UInt64 = 0
    return read(STDIN_FILENO, &bytes, 8) > 0 ? .line : .end
  }
}

/// Writes once a second the progress of those kiosks for which it has changed.
private struct Progress {
  private struct Line: Report {
    let at = Date().timeIntervalSince1970
    let cursors: [String: [Int]]
  }

  private var written: [String: [Int]] = [:]
  private var next = Duration.zero

  mutating func write(_ kiosks: [CrowdKiosk], at now: Duration) {
    guard now >= next else { return }
    next = now + .seconds(1)
    var changed: [String: [Int]] = [:]
    for kiosk in kiosks where written[kiosk.id] != kiosk.cursors {
      changed[kiosk.id] = kiosk.cursors
    }
    written.merge(changed) { $1 }
    Line(cursors: changed).write()
  }
}

/// A random number generator with a seed (SplitMix64).
private struct Chance: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
