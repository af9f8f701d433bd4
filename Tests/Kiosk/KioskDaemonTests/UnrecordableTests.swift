import GRDB
import InMemoryBroker
import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol
import MessageBroker
import Testing

/// Tests a command that the ledger can never store, regardless of the disk.
@Suite struct UnrecordableTests {
  private let fixture: KioskFixture
  private let panel: TestClient

  init() throws {
    fixture = try KioskFixture()
    try fixture.startKiosk()
    panel = try fixture.panel()
    try DatabaseQueue(path: fixture.ledgerPath).write { database in
      try database.execute(
        sql: """
          CREATE TRIGGER refuse BEFORE INSERT ON entry WHEN NEW.id = 'bad'
          BEGIN UPDATE stock SET quantity = -1; END
          """)
    }
  }

  private func order(_ ids: String...) {
    for id in ids {
      fixture.publish("{\"id\":\"\(id)\",\"juice\":\"banana\"}", to: "kiosk/k1/order/p1", by: panel)
    }
  }

  @Test func itIsTurnedAwayAndTheOthersOfItsBatchAreMade() throws {
    fixture.broker.refuseLogins()
    fixture.broker.cut("kiosk")
    fixture.executor.run()
    order("a", "bad", "b")
    fixture.broker.refuseLogins(false)
    fixture.advance(by: .seconds(70))
    let results = try panel.takeResults()
    #expect(results.map(\.id) == ["a", "bad", "b"])
    #expect(results.map(\.status) == [.ready, .rejected, .ready])
    #expect(results.map(\.reason) == [nil, .notRecorded, nil])
    #expect(results.map(\.seq) == [2, nil, 3])
    #expect(fixture.retained("stock/banana") == "6")
    #expect(fixture.retained("health")?.contains(#""rejected":1,"#) == true)
  }

  @Test func itIsNotDeliveredForEver() throws {
    order("bad")
    #expect(try panel.takeResults().map(\.reason) == [.notRecorded])
    fixture.crashConnection()
    fixture.advance(by: .seconds(10))
    #expect(try panel.takeResults().isEmpty)
    order("b")
    #expect(try panel.takeResults().map(\.status) == [.ready])
  }
}
