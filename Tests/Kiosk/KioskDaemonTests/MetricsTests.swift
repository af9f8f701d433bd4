import CoreMetrics
import Foundation
import InMemoryBroker
import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol
import MessageBroker
import MetricsTestKit
import Testing

/// What a metrics backend is told.
@Suite struct MetricsTests {
  private let metrics = TestMetrics()
  private let fixture: KioskFixture

  init() throws { fixture = try KioskFixture() }

  private func total(_ label: String, _ dimensions: (String, String)...) -> Int64 {
    metrics.counterTotal(label: "juice_kiosk_\(label)", dimensions: dimensions)
  }

  private func gauge(_ label: String, _ dimensions: (String, String)...) throws -> Double? {
    try metrics.expectGauge("juice_kiosk_\(label)", dimensions).lastValue
  }

  private func start() throws {
    try withMetricsFactory(metrics) { try fixture.startKiosk() }
  }

  @Test func ordersAndWhatBecomesOfThem() throws {
    try start()
    let panel = try fixture.panel()
    for payload in [
      #"{"id":"a","juice":"strawberry_banana"}"#, #"{"id":"a","juice":"strawberry_banana"}"#,
      "strawberry_banana", "kiwi", "tea", "{",
    ] {
      fixture.publish(payload, to: "kiosk/k1/order/p1", by: panel)
    }
    fixture.publish(#"{"add":{"kiwi":1}}"#, to: "kiosk/k1/restock/desk", by: panel)
    fixture.publish(#"{"add":{"kiwi":1000}}"#, to: "kiosk/k1/restock/desk", by: panel)
    #expect(total("orders", ("status", "ready")) == 2)
    #expect(total("orders", ("status", "out_of_stock")) == 1)
    #expect(total("orders", ("status", "rejected")) == 2)
    #expect(total("rejections", ("reason", "unknown_juice")) == 1)
    #expect(total("rejections", ("reason", "malformed")) == 1)
    #expect(total("rejections", ("reason", "exceeds_capacity")) == 1)
    #expect(total("rejections", ("reason", "stale")) == 0)
    #expect(total("duplicates") == 1)
    #expect(total("restocks") == 1)
    #expect(try gauge("stock", ("fruit", "strawberry")) == 0)
    #expect(try gauge("stock", ("fruit", "kiwi")) == 8)
    #expect(try gauge("stock", ("fruit", "mango")) == 10)
  }

  @Test func batchesAndTheirCommits() throws {
    try start()
    let panel = try fixture.panel()
    Task(executorPreference: fixture.executor) { [client = panel.client] in
      _ = try await client.publish(
        (0..<3).map { _ in Message(topic: "kiosk/k1/order/p1", text: "banana") })
    }
    fixture.executor.run()
    let sizes = try metrics.expectRecorder("juice_kiosk_batch_size").values
    #expect(sizes.reduce(0, +) == 3)
    let commits = try metrics.expectTimer("juice_kiosk_commit_duration").values
    #expect(commits.count == sizes.count && commits.allSatisfy { $0 > 0 && $0 < 10_000_000_000 })
  }

  @Test func whatIsMeasuredWithEachHealth() throws {
    try start()
    #expect(try #require(try gauge("unconfirmed_messages")) > 0)
    fixture.advance(by: .seconds(31))
    #expect(try gauge("unconfirmed_messages") == 0)
    let size = try #require(try gauge("ledger_bytes"))
    #expect(size > 4_000)
    fixture.broker.cut("kiosk")
    fixture.advance(by: .seconds(5))
    #expect(total("reconnects") == 1)
  }

  @Test func aFruitThatHasLeftTheMenuIsToldNoMore() throws {
    try start()
    try withMetricsFactory(metrics) {
      try fixture.reload { settings in
        settings.menu = try Menu(
          fruits: Menu.standard.fruits.filter { $0.id != "kiwi" },
          juices: Menu.standard.juices.filter { $0.recipe.amounts["kiwi"] == nil })
      }
      fixture.executor.run()
    }
    #expect(throws: (any Error).self) { try gauge("stock", ("fruit", "kiwi")) }
    #expect(try gauge("stock", ("fruit", "mango")) == 10)
  }

  // MARK: Machines

  /// A kiosk whose machine is there, and what the machine says.
  private func startWithMachine() throws -> TestClient {
    fixture.settings.machines = [KioskSettings.Machine(name: "bar")]
    let machine = try fixture.testClient("bar", subscribedTo: ["kiosk/k1/make/bar"])
    try start()
    fixture.publish("online", to: "kiosk/k1/machine/bar/status", by: machine)
    return machine
  }

  private func nextJob(of machine: TestClient) throws -> Int {
    try MachineOrder(payload: #require(machine.take().last).payload).job
  }

  private func say(_ answer: MachineAnswer, by machine: TestClient) {
    fixture.publish(
      String(decoding: answer.payload, as: UTF8.self), to: "kiosk/k1/made/bar", by: machine)
  }

  @Test func fromThePressToTheCup() throws {
    let machine = try startWithMachine()
    #expect(try gauge("machine_up", ("machine", "bar")) == 1)
    fixture.publish("kiwi", to: "kiosk/k1/order/p1", by: machine)
    #expect(try gauge("jobs", ("state", "sent")) == 1)
    let job = try nextJob(of: machine)
    say(MachineAnswer(job: job, status: .started), by: machine)
    #expect(try gauge("jobs", ("state", "started")) == 1)
    fixture.advance(by: .seconds(9))
    say(MachineAnswer(job: job, status: .done), by: machine)
    let cups = try metrics.expectTimer("juice_kiosk_cup_duration").values
    #expect(cups == [9_000_000_000])
    #expect(try gauge("jobs", ("state", "started")) == 0)
    #expect(total("orders", ("status", "made")) == 1)
    fixture.publish("fault: jam", to: "kiosk/k1/machine/bar/status", by: machine)
    #expect(try gauge("machine_up", ("machine", "bar")) == 0)
  }

  @Test func aMachineThatMakesUpReasonsDoesNotMakeUpSeries() throws {
    let machine = try startWithMachine()
    fixture.publish(
      #"{"add":{"kiwi":90}}"#, to: "kiosk/k1/restock/desk", by: machine)
    for number in 1...25 {
      // Each comes back, and is given another try.
      fixture.publish("offline", to: "kiosk/k1/machine/bar/status", by: machine)
      fixture.publish("online", to: "kiosk/k1/machine/bar/status", by: machine)
      fixture.publish("kiwi", to: "kiosk/k1/order/p1", by: machine)
      let job = try nextJob(of: machine)
      say(
        MachineAnswer(job: job, status: .failed(reason: "jam \(number)", used: [:])), by: machine)
    }
    #expect(total("failures", ("reason", "jam 1")) == 1)
    #expect(total("failures", ("reason", "other")) == 5)
    let series = metrics.counters.filter { $0.label == "juice_kiosk_failures" }
    #expect(series.count == 23)
  }

  @Test func theHandbookListsThem() throws {
    _ = try startWithMachine()
    var project = URL(filePath: #filePath)
    for _ in 1...4 { project.deleteLastPathComponent() }
    let handbook = try String(
      contentsOf: project.appending(path: "deploy/docs/operations.md"), encoding: .utf8)
    let listed = handbook.split(separator: "\n").filter { $0.hasPrefix("| `juice_kiosk_") }
      .map { String($0.split(separator: "`")[1]) }
    let made =
      metrics.counters.map(\.label) + metrics.recorders.map(\.label)
      + metrics.timers.map(\.label)
    #expect(Set(listed) == Set(made))
  }

  @Test func withoutABackendNothingIsMade() throws {
    try fixture.startKiosk()
    let panel = try fixture.panel()
    fixture.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    #expect(metrics.counters.isEmpty && metrics.recorders.isEmpty && metrics.timers.isEmpty)
  }
}
