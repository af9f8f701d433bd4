import Fleet
import JuiceDomain
import KioskMessages
import Testing

@Suite struct TroubleWatchTests {
  private var fleet = KioskFleet(root: "kiosk")
  private var watch = TroubleWatch(TroubleWatch.Rules())
  private var isConnected = true
  private let start = ContinuousClock.now
  private let epoch = Timestamp(milliseconds: 1_795_251_600_000)
  private var seconds = 0

  private mutating func tell(_ topic: String, _ payload: String) {
    fleet.receive(
      topic: "kiosk/\(topic)", payload: Array(payload.utf8), isRetained: true, at: epoch)
  }

  private func time(_ seconds: Int) -> Timestamp {
    Timestamp(milliseconds: epoch.milliseconds + Int64(seconds) * 1000)
  }

  /// What is told until then, looking each second; `10 +offline k1`: after ten seconds.
  private mutating func told(until end: Int) -> [String] {
    var told: [String] = []
    while seconds < end {
      let news = watch.look(
        at: fleet, isConnected: isConnected, at: start + .seconds(seconds), now: time(seconds))
      told += news.map { "\(seconds) \($0.isOver ? "-" : "+")\($0.trouble.words)" }
      seconds += 1
    }
    return told
  }

  /// A minute in which nothing is wrong.
  private mutating func settle() {
    tell("k1/status", "online")
    #expect(told(until: 100).isEmpty)
  }

  private func machine(_ state: MachineReport.State, asking tickets: [Int] = []) -> String {
    let jobs = tickets.map {
      MachineReport.Job(
        job: $0 + 1000, ticket: $0, juice: "kiwi", quantity: 1, state: .asked, at: epoch)
    }
    let report = MachineReport(state: state, queue: 0, jobs: jobs, ready: [])
    return String(decoding: report.payload, as: UTF8.self)
  }

  @Test mutating func aKioskThatStaysAwayIsToldOnceAndOnceThatItIsBack() {
    settle()
    tell("k1/status", "offline")
    // Five minutes, and ten seconds in which others may follow.
    #expect(told(until: 5000) == ["410 +offline k1"])
    tell("k1/status", "online")
    #expect(told(until: 9000) == ["5070 -offline k1"])
    #expect(watch.told.isEmpty)
  }

  @Test mutating func aKioskThatIsAwayForAMomentIsNotTold() {
    settle()
    for second in stride(from: 100, to: 3000, by: 290) {
      tell("k1/status", "offline")
      #expect(told(until: second + 289).isEmpty)
      tell("k1/status", "online")
      #expect(told(until: second + 290).isEmpty)
    }
  }

  @Test mutating func oneThatIsBackForAMomentIsNotOver() {
    settle()
    tell("k1/status", "offline")
    #expect(told(until: 500) == ["410 +offline k1"])
    for second in stride(from: 500, to: 2000, by: 60) {
      tell("k1/status", "online")
      #expect(told(until: second + 59).isEmpty)
      tell("k1/status", "offline")
      #expect(told(until: second + 60).isEmpty)
    }
  }

  @Test mutating func itSaysSinceWhen() {
    settle()
    tell("k1/alert/kiwi", "out")
    _ = told(until: 110)
    let news = watch.look(
      at: fleet, isConnected: true, at: start + .seconds(110), now: time(110))
    #expect(news == [.init(.out("k1", "kiwi"), since: time(100))])
    #expect(watch.told == [.out("k1", "kiwi"): time(100)])
  }

  @Test mutating func aFruitThatIsOutIsToldAtOnce() {
    settle()
    tell("k1/alert/kiwi", "low")
    tell("k1/alert/mango", "out")
    #expect(told(until: 200) == ["110 +out k1 mango"])
    tell("k1/alert/mango", "low")
    #expect(told(until: 400) == ["270 -out k1 mango"])
  }

  @Test mutating func aMachineThatSaysAFaultIsToldAtOnceAndOneThatIsAwayLater() {
    settle()
    tell("k1/machine/bar", machine(.fault))
    tell("k1/machine/pump", machine(.silent))
    #expect(told(until: 1000) == ["110 +machine k1 bar", "410 +machine k1 pump"])
    tell("k1/machine/bar", machine(.busy))
    tell("k1/machine/pump", "")
    #expect(told(until: 2000) == ["1070 -machine k1 bar", "1070 -machine k1 pump"])
  }

  @Test mutating func eachJobThatWaitsForAPersonIsTold() {
    settle()
    tell("k1/machine/bar", machine(.idle, asking: [7]))
    #expect(told(until: 200) == ["110 +job k1 7"])
    tell("k1/machine/bar", machine(.idle, asking: [7, 8]))
    #expect(told(until: 300) == ["210 +job k1 8"])
    tell("k1/machine/bar", machine(.idle))
    #expect(told(until: 500) == ["370 -job k1 7", "370 -job k1 8"])
  }

  @Test mutating func aPowerCutIsOneMessage() {
    for kiosk in 10..<30 { tell("k\(kiosk)/status", "online") }
    settle()
    var all: [String] = []
    for kiosk in 10..<30 {
      tell("k\(kiosk)/status", "offline")
      // A broker notices one after the other.
      all += told(until: 100 + (kiosk - 9) / 2)
    }
    all += told(until: 5000)
    #expect(all == (10..<30).map { "410 +offline k\($0)" })
  }

  @Test mutating func messagesAreAMinuteApart() {
    settle()
    var all: [String] = []
    for (second, fruit) in [(100, "kiwi"), (115, "mango"), (125, "banana"), (160, "pineapple")] {
      all += told(until: second)
      tell("k1/alert/\(fruit)", "out")
    }
    all += told(until: 1000)
    #expect(
      all == [
        "110 +out k1 kiwi", "170 +out k1 banana", "170 +out k1 mango", "170 +out k1 pineapple",
      ])
  }

  @Test mutating func nothingIsToldInTheFirstMinuteAndNothingTwice() {
    tell("k1/status", "offline")
    tell("k2/status", "online")
    tell("k2/alert/kiwi", "out")
    tell("k2/alert/mango", "out")
    watch = TroubleWatch(
      TroubleWatch.Rules(), told: [.offline("k1"): epoch, .out("k2", "kiwi"): epoch])
    // What is new is told after the minute; what was known is not.
    #expect(told(until: 4000) == ["70 +out k2 mango"])
  }

  @Test mutating func whatIsOverSinceBeforeTheStartIsToldAfterTheFirstMinute() {
    tell("k1/status", "online")
    watch = TroubleWatch(TroubleWatch.Rules(), told: [.offline("k1"): epoch])
    #expect(told(until: 4000) == ["70 -offline k1"])
  }

  @Test mutating func whatNothingIsHeardOfIsNotOver() {
    let month = 30 * 24 * 3600
    watch = TroubleWatch(TroubleWatch.Rules(), told: [.offline("k1"): time(-month + 500)])
    #expect(told(until: 400).isEmpty)
    #expect(watch.told.count == 1)
    // After a month nobody waits for it.
    #expect(told(until: 600).isEmpty)
    #expect(watch.told.isEmpty)
  }

  @Test mutating func ofAKioskThatIsOfflineNothingElseBeginsOrEnds() {
    settle()
    tell("k1/alert/kiwi", "out")
    tell("k1/machine/bar", machine(.silent))
    #expect(told(until: 150) == ["110 +out k1 kiwi"])
    tell("k1/status", "offline")
    tell("k1/alert/kiwi", "ok")
    tell("k1/machine/bar", machine(.fault))
    #expect(told(until: 1000) == ["460 +offline k1"])
    tell("k1/status", "online")
    #expect(
      told(until: 2000) == ["1010 +machine k1 bar", "1070 -offline k1", "1070 -out k1 kiwi"])
  }

  @Test mutating func aBrokerThatIsAwayIsToldInsteadOfItsKiosks() {
    settle()
    tell("k1/alert/mango", "out")
    isConnected = false
    tell("k1/status", "offline")
    #expect(told(until: 3000) == ["410 +no broker"])
    // It is back, and its kiosks by and by.
    isConnected = true
    #expect(told(until: 3030).isEmpty)
    tell("k1/status", "online")
    #expect(told(until: 4000) == ["3070 +out k1 mango", "3070 -no broker"])
  }

  @Test mutating func aBrokerThatIsAwayForAMomentIsNotTold() {
    settle()
    for second in stride(from: 100, to: 3000, by: 100) {
      isConnected = false
      #expect(told(until: second + 99).isEmpty)
      isConnected = true
      #expect(told(until: second + 100).isEmpty)
    }
  }

  @Test mutating func aBrokerThatComesAndGoesMakesNoAbsenceShorter() {
    settle()
    tell("k1/status", "offline")
    #expect(told(until: 300).isEmpty)
    isConnected = false
    #expect(told(until: 350).isEmpty)
    isConnected = true
    #expect(told(until: 2000) == ["420 +offline k1"])
  }

  @Test mutating func aKioskThatIsTakenAwayIsNoTrouble() {
    settle()
    tell("k1/status", "offline")
    #expect(told(until: 200).isEmpty)
    tell("k1/status", "")
    #expect(told(until: 2000).isEmpty)
  }

  @Test func whatWasToldIsReadAsItWasWritten() throws {
    let told: [Trouble: Timestamp] = [
      .noBroker: epoch, .offline("k1"): time(1), .machine("k1", "bar"): time(2),
      .job("k1", 1007, ticket: 7): time(3), .out("k2", "kiwi"): time(4),
    ]
    let watch = TroubleWatch(TroubleWatch.Rules(), told: told)
    let json = JSONWriter.object { watch.write(to: &$0) }
    #expect(TroubleWatch.told(in: try JSON.parse(json)) == told)
  }

  @Test(arguments: [
    "{}", #"{"told":7}"#, #"{"told":[7,null,{}]}"#,
    #"{"told":[{"trouble":"offline","since":"2026-11-21T09:00:00Z"}]}"#,
    #"{"told":[{"trouble":"out","kiosk":"k1","fruit":"k/w","since":"2026-11-21T09:00:00Z"}]}"#,
    #"{"told":[{"trouble":"job","kiosk":"k1","job":1,"since":"2026-11-21T09:00:00Z"}]}"#,
    #"{"told":[{"trouble":"offline","kiosk":"k1","since":"yesterday"}]}"#,
  ])
  func whatCannotBeReadIsLeftOut(json: String) throws {
    #expect(TroubleWatch.told(in: try JSON.parse(Array(json.utf8))).isEmpty)
  }
}

extension Trouble {
  fileprivate var words: String {
    switch self {
    case .noBroker: "no broker"
    case .offline(let kiosk): "offline \(kiosk)"
    case .machine(let kiosk, let machine): "machine \(kiosk) \(machine)"
    case .job(let kiosk, _, let ticket): "job \(kiosk) \(ticket)"
    case .out(let kiosk, let fruit): "out \(kiosk) \(fruit)"
    }
  }
}
