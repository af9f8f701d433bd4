import InMemoryBroker
import MessageBroker
import Synchronization
import Testing

struct ManualExecutorTests {
  /// Records events in order.
  private final class Record: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock(\.self) }
    func add(_ line: String) { lines.withLock { $0.append(line) } }
  }

  /// A kiosk and a panel on one executor: jobs run only in `run()`, time passes only in
  /// `advance(by:)`, and the schedule is always the same.
  @Test func aSimulationRunsTheSameWayEachTime() throws {
    func simulate() throws -> [String] {
      let record = Record()
      let executor = ManualExecutor()
      let broker = MemoryBroker()
      let kiosk = broker.client(on: executor)
      let panel = broker.client(on: executor)
      let orders = try TopicFilter("orders")
      Task(executorPreference: executor) {
        await kiosk.connect(SessionOptions(clientID: "kiosk", subscriptions: [orders]))
        while let event = await kiosk.nextEvent(timeout: .seconds(2)) {
          if case .deliveries = event {
            record.add("kiosk order")
          } else {
            record.add("kiosk \(event)")
          }
          await kiosk.acknowledge()
        }
        record.add("kiosk timeout")
      }
      Task(executorPreference: executor) {
        await panel.connect(SessionOptions(clientID: "panel"))
        while let event = await panel.nextEvent(timeout: .seconds(1)) {
          record.add("panel \(event)")
          if event == .online {
            _ = try? await panel.publish([Message(topic: "orders", text: "")])
          }
        }
        record.add("panel timeout")
      }
      record.add("start")
      executor.run()
      while let due = broker.nextDeadline {
        record.add("at \(due.components.seconds) s")
        broker.advance(by: due - broker.now)
        executor.run()
      }
      return record.all
    }

    let first = try simulate()
    #expect(
      first == [
        "start", "kiosk sessionBegan", "panel sessionBegan", "panel online", "kiosk online",
        "panel confirmed", "kiosk order",
        "at 1 s",
        "panel timeout", "at 2 s", "kiosk timeout",
      ])
    for _ in 1...20 { #expect(try simulate() == first) }
  }

  /// Timeouts at the same time resume the clients in the order of their creation.
  @Test func jobsRunInTheirOrder() {
    let executor = ManualExecutor()
    let broker = MemoryBroker()
    let record = Record()
    for number in 1...5 {
      let client = broker.client(on: executor)
      Task(executorPreference: executor) {
        _ = await client.nextEvent(timeout: .seconds(1))
        record.add("\(number)")
      }
    }
    executor.run()
    #expect(record.all.isEmpty)
    broker.advance(by: .seconds(1))
    executor.run()
    #expect(record.all == ["1", "2", "3", "4", "5"])
  }

  @Test func aCancellationEndsAWaitingCall() async {
    let executor = ManualExecutor()
    let client = MemoryBroker().client(on: executor)
    let record = Record()
    let task = Task(executorPreference: executor) {
      record.add("waits")
      let event = await client.nextEvent(timeout: nil)
      record.add("\(String(describing: event))")
    }
    executor.run()
    #expect(record.all == ["waits"])
    task.cancel()
    executor.run()
    #expect(record.all == ["waits", "nil"])
  }

  @Test func nothingRunsByItself() async {
    let executor = ManualExecutor()
    let client = MemoryBroker().client(on: executor)
    let record = Record()
    let task = Task(executorPreference: executor) {
      _ = await client.confirmed
      record.add("ran")
    }
    #expect(record.all.isEmpty)
    executor.run()
    #expect(record.all == ["ran"])
    await task.value
  }
}
