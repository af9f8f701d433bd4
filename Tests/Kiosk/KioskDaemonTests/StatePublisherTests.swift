import InMemoryBroker
import JuiceDomain
import KioskCore
import KioskProtocol
import MessageBroker
import Testing

@testable import KioskDaemon

/// Tests when the state is published during a burst of orders.
@Suite struct StatePublisherTests {
  private let fixture: KioskFixture
  private let display: TestClient

  init() throws {
    fixture = try KioskFixture {
      $0.orders.maximumPerSecond = 0
      $0.stock.initial = ["banana": 100]
    }
    fixture.batchLimit = 1
    try fixture.startKiosk()
    display = try fixture.testClient("display", subscribedTo: ["kiosk/k1/stock"])
    _ = display.take()
  }

  /// Publishes ten orders at once, of which the kiosk reads one at a time.
  ///
  /// - Parameter react: Called at each answer, before the kiosk continues.
  /// - Returns: The entries whose state the display has received.
  private func told(then react: @escaping @Sendable () -> Void = {}) throws -> [Int] {
    let panel = try fixture.testClient(
      "p1", subscribedTo: ["kiosk/k1/order/p1/result"], on: ImmediateExecutor(), then: react)
    let order = Message(topic: "kiosk/k1/order/p1", text: "banana")
    Task(executorPreference: fixture.executor) { [client = panel.client] in
      try await client.publish(Array(repeating: order, count: 10))
    }
    fixture.executor.run()
    withExtendedLifetime(panel) {}
    return try display.take().map { try StockReport(payload: $0.payload).seq }
  }

  @Test func onlyTheLastOfOrdersThatFollowEachOtherIsTold() throws {
    #expect(try told() == [11])
    #expect(fixture.retained("stock/banana") == "80")
  }

  @Test func theStateIsNeverBehindForLong() throws {
    let broker = fixture.broker
    let told = try told { broker.advance(by: .milliseconds(20)) }
    #expect(told == [4, 7, 10, 11])
  }

  @Test func whoTakesItsLeaveInTheMidstOfOrdersHasToldTheState() throws {
    let kiosk = fixture.task
    let told = try told { kiosk?.cancel() }
    #expect(told == [2])
  }
}
