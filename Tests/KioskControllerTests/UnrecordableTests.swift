import GRDB
import InMemoryBroker
import JuiceDomain
import KioskController
import KioskCore
import KioskMessages
import MessageBroker
import Testing

/// A command that the ledger can never hold, whatever becomes of the disk.
@Suite struct UnrecordableTests {
  private let scene: Scene
  private let panel: Person

  init() throws {
    scene = try Scene()
    try scene.startKiosk()
    panel = try scene.panel()
    try DatabaseQueue(path: scene.ledgerPath).write { database in
      try database.execute(
        sql: """
          CREATE TRIGGER refuse BEFORE INSERT ON entry WHEN NEW.id = 'bad'
          BEGIN UPDATE stock SET quantity = -1; END
          """)
    }
  }

  private func order(_ ids: String...) {
    for id in ids {
      scene.publish("{\"id\":\"\(id)\",\"juice\":\"banana\"}", to: "kiosk/k1/order/p1", by: panel)
    }
  }

  @Test func itIsTurnedAwayAndTheOthersOfItsBatchAreMade() throws {
    scene.broker.refuseLogins()
    scene.broker.cut("kiosk")
    scene.executor.run()
    order("a", "bad", "b")
    scene.broker.refuseLogins(false)
    scene.advance(by: .seconds(70))
    let results = try panel.takeResults()
    #expect(results.map(\.id) == ["a", "bad", "b"])
    #expect(results.map(\.status) == [.ready, .rejected, .ready])
    #expect(results.map(\.reason) == [nil, .notRecorded, nil])
    #expect(results.map(\.seq) == [2, nil, 3])
    #expect(scene.retained("stock/banana") == "6")
    #expect(scene.retained("health")?.contains(#""rejected":1,"#) == true)
  }

  @Test func itIsNotDeliveredForEver() throws {
    order("bad")
    #expect(try panel.takeResults().map(\.reason) == [.notRecorded])
    scene.crashConnection()
    scene.advance(by: .seconds(10))
    #expect(try panel.takeResults().isEmpty)
    order("b")
    #expect(try panel.takeResults().map(\.status) == [.ready])
  }
}
