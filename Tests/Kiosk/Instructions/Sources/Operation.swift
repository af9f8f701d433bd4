import Devices
import JuiceDomain
import KioskProtocol

/// An operation of which the instructions and allocations are counted.
struct Operation {
  let name: String
  /// Number of orders, messages or texts that one run processes.
  let units: Int
  let run: () -> Void

  static func all() throws -> [Operation] {
    try [1, 64, 512].flatMap { [decision(on: $0), try commit(of: $0)] } + [rejection(of: 512)]
      + [try orders(100), try jobs(100), plan(of: 20)] + codecs + dialects
  }

  /// Creates an operation that runs `body` a hundred times.
  private static func repeated<Result>(
    _ name: String, _ body: @escaping () throws -> Result
  ) -> Operation {
    Operation(name: name, units: 100) { for _ in 0..<100 { _ = try? body() } }
  }

  private static var codecs: [Operation] {
    let order = Array(#"{"id":"a1","juice":"strawberry_banana","quantity":1}"#.utf8)
    let dated = Array(
      #"{"id":"a1","juice":"kiwi","quantity":2,"sent_at":"2026-11-21T09:00:00.125Z"}"#.utf8)
    let restock = Array(#"{"id":"r1","add":{"strawberry":20,"kiwi":-1},"set":{"mango":30}}"#.utf8)
    let word = Array("strawberry_banana".utf8)
    let stock: FruitAmounts = [
      "strawberry": 100, "banana": 100, "pineapple": 100, "kiwi": 100, "mango": 100,
    ]
    let at = Timestamp(milliseconds: 1_795_251_600_125)
    var result = CommandResult(status: .ready)
    (result.id, result.ticket, result.juice, result.quantity) = ("a1", 42, "strawberry_banana", 1)
    (result.used, result.stock) = (["strawberry": 10, "banana": 1], stock)
    (result.message, result.seq) = ("Strawberry banana juice is ready. Enjoy!", 1234)
    let payload = result.payload
    let entry = LedgerEntry(
      seq: 1234, epoch: 0, at: at, source: Source(kind: .order, name: "panel1"), id: "a1",
      outcome: .ready(
        Order(juice: "strawberry_banana"), used: ["strawberry": 10, "banana": 1],
        ticket: Ticket(day: 20_778, number: 42)))
    let report = StockReport(seq: 1234, at: at, fruits: stock)
    let menu = MenuReport(menu: .standard, capacities: stock, lowMarks: stock)
    return [
      repeated("read-order") { try Request(kind: .order, payload: order) },
      repeated("read-order-with-time") { try Request(kind: .order, payload: dated) },
      repeated("read-order-of-one-word") { try Request(kind: .order, payload: word) },
      repeated("read-restock") { try Request(kind: .restock, payload: restock) },
      repeated("read-result") { try CommandResult(payload: payload) },
      repeated("write-result") { result.payload },
      repeated("write-event") { entry.payload },
      repeated("write-stock") { report.payload },
      repeated("write-menu") { menu.payload },
      repeated("write-time") { at.description },
    ]
  }

  private static var dialects: [Operation] {
    func reading(
      _ dialect: Dialect, _ device: String, _ topic: String, _ press: String, _ payload: String
    ) -> Operation {
      let panel = PanelBinding(
        name: "panel1", dialect: dialect, topic: device,
        buttons: [press: .order(Order(juice: "kiwi"))])
      let bytes = Array(payload.utf8)
      return repeated("read-\(dialect.name.rawValue)") {
        try panel.read(bytes, on: topic, isRetained: false)
      }
    }
    return [
      reading(
        .zigbee2MQTT, "zigbee2mqtt/hall", "zigbee2mqtt/hall", "single",
        #"{"action":"single","battery":100,"linkquality":87}"#),
      reading(
        .tasmota, "stat/hall", "stat/hall/RESULT", "1_single", #"{"Button1":{"Action":"SINGLE"}}"#),
      reading(
        .shellyGen1, "shellies/ix3", "shellies/ix3/input_event/0", "0_single",
        #"{"event":"S","event_cnt":4}"#),
      reading(
        .shellyGen2, "hall", "hall/events/rpc", "0_single",
        #"{"src":"i4","dst":"hall/events","method":"NotifyEvent","params":{"ts":1643540082.66,"events":[{"component":"input:0","id":0,"event":"single_push","ts":1643540082.61}]}}"#
      ),
      reading(
        .esphome, "hall", "hall/event/button/state", "button_single", #"{"event_type":"single"}"#),
      reading(
        .generic(GenericFormat(action: JSONPointer("/d/0/a"))), "g/hall", "g/hall", "on",
        #"{"d":[{"a":"on"}]}"#),
    ]
  }
}
