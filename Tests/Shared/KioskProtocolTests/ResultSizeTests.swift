import Foundation
import JuiceDomain
import KioskProtocol
import Testing

/// The sizes of results with the longest permitted values, which the table in protocol.md states.
@Suite struct ResultSizeTests {
  private static let longID = String(repeating: "x", count: 64)

  /// Returns a result with all members of its status, each as long as it can be with the built-in
  /// menu: names and ids of 64 characters, amounts of fruit of 1,000,000,000.
  private static func longest(_ status: CommandResult.Status) -> CommandResult {
    var result = CommandResult(status: status)
    let fruits = FruitAmounts(Menu.standard.fruits.map { (fruit: $0.id, amount: 1_000_000_000) })
    let money = Currency("EUR").map { Money(units: 100_000_000, $0) }
    // A name of 64 Korean letters has 192 bytes.
    let name = String(repeating: "쥬", count: 64)
    result.id = Request.ID(longID)
    (result.juice, result.quantity) = (Juice.ID(longID), 1_000)
    (result.stock, result.seq, result.isDuplicate) = (fruits, 1_000_000_000, true)
    switch status {
    case .accepted:
      (result.ticket, result.machine, result.place) = (10_000, MachineID(longID), 1_000)
      (result.amount, result.used) = (money, fruits)
      result.message = CustomerMessage.accepted(name, ticket: 10_000, in: .korean)
    case .awaitingPayment:
      (result.ticket, result.device) = (10_000, PaymentDeviceID(longID))
      (result.amount, result.used) = (money, fruits)
      result.message = money.map { CustomerMessage.pay($0, in: .korean) }
    case .ready:
      (result.ticket, result.machine, result.amount) = (10_000, MachineID(longID), money)
      result.message = CustomerMessage.ready(name, in: .korean)
    case .failed:
      (result.ticket, result.machine, result.amount) = (10_000, MachineID(longID), money)
      result.failure = String(repeating: "쥬", count: 64)
      result.message =
        CustomerMessage.failed(name, in: .korean) + " " + MoneyEnd.releasing.text(.korean)
    case .outOfStock:
      result.missing = fruits
      result.message = CustomerMessage.outOfStock(in: .korean)
    case .rejected:
      result.reason = RejectionReason.allCases.max { $0.rawValue.count < $1.rawValue.count }
      result.detail = String(repeating: "x", count: 64) + " of 1000 glasses, at most 1000"
      result.message = CustomerMessage.cleaningDue(in: .korean)
    case .applied:
      (result.juice, result.quantity, result.service) = (nil, nil, .closed)
    }
    return result
  }

  private static let statuses: [CommandResult.Status] = [
    .ready, .accepted, .awaitingPayment, .failed, .outOfStock, .rejected,
  ]

  @Test(arguments: statuses)
  func aShortResultHasAMaximumSize(_ status: CommandResult.Status) {
    var result = Self.longest(status)
    // The longest text of the kiosk that the short form contains.
    if status == .failed { result.failure = String(repeating: "x", count: 24) }
    #expect(result.shortPayload.count <= CommandResult.maximumShortSize)
    // With the id of a usual device, a UUID, and its topic.
    result.id = "123e4567-e89b-12d3-a456-426614174000"
    #expect(result.shortPayload.count + "kiosk/k1/order/panel1/result".utf8.count < 200)
  }

  @Test func aShortResultHasNoText() {
    var result = Self.longest(.failed)
    result.id = "a1"
    #expect(
      String(decoding: result.shortPayload, as: UTF8.self)
        == #"{"id":"a1","status":"failed","ticket":10000,"amount":"1000000.00","duplicate":true}"#)
    result.failure = "payment_unknown"
    #expect(
      String(decoding: result.shortPayload, as: UTF8.self).contains(#""reason":"payment_unknown""#))
  }

  @Test func theProtocolStatesTheSizes() throws {
    let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
    let page = try String(
      contentsOf: root.appending(path: "deploy/docs/protocol.md"), encoding: .utf8)
    for status in Self.statuses {
      let result = Self.longest(status)
      var short = result
      if status == .failed { short.failure = String(repeating: "x", count: 24) }
      let row =
        "| `\(status.rawValue)` | \(result.payload.count) | \(short.shortPayload.count) |"
      #expect(page.contains(row), "\(row)")
    }
    #expect(page.contains("at most \(CommandResult.maximumShortSize) bytes"))
  }
}
