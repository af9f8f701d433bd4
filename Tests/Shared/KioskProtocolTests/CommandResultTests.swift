import Foundation
import JuiceDomain
import KioskProtocol
import Testing

@Suite struct CommandResultTests {
  private static var ready: CommandResult {
    var result = CommandResult(status: .ready)
    result.id = "a1"
    result.ticket = 42
    result.juice = "strawberry_banana"
    result.quantity = 1
    result.used = ["strawberry": 10, "banana": 1]
    result.stock = ["strawberry": 0, "banana": 9]
    result.message = "딸바쥬스 나왔습니다! 맛있게 드세요!"
    result.seq = 1234
    return result
  }

  private static var priced: CommandResult {
    var result = CommandResult(status: .ready)
    (result.juice, result.quantity) = ("kiwi", 2)
    result.amount = Currency("EUR").map { Money(units: 700, $0) }
    return result
  }

  private static var outOfStock: CommandResult {
    var result = CommandResult(status: .outOfStock)
    result.missing = ["strawberry": 6]
    return result
  }

  private static var applied: CommandResult {
    var result = CommandResult(status: .applied)
    result.id = "r1"
    result.stock = ["kiwi": 9]
    result.seq = 1235
    return result
  }

  private static var closed: CommandResult {
    var result = CommandResult(status: .applied)
    result.service = .closed
    result.isDuplicate = true
    return result
  }

  @Test(
    arguments: [
      (
        ready,
        #"{"id":"a1","status":"ready","ticket":42,"juice":"strawberry_banana","quantity":1,"#
          + #""used":{"banana":1,"strawberry":10},"stock":{"banana":9,"strawberry":0},"#
          + #""message":"딸바쥬스 나왔습니다! 맛있게 드세요!","seq":1234}"#
      ),
      (priced, #"{"status":"ready","juice":"kiwi","quantity":2,"amount":"7.00","currency":"EUR"}"#),
      (outOfStock, #"{"status":"out_of_stock","missing":{"strawberry":6}}"#),
      (applied, #"{"id":"r1","status":"applied","stock":{"kiwi":9},"seq":1235}"#),
      (closed, #"{"status":"applied","service":"closed","duplicate":true}"#),
      (
        CommandResult(Rejection(.unknownJuice, "there is no \"x\"", id: "a1")),
        #"{"id":"a1","status":"rejected","reason":"unknown_juice","detail":"there is no \"x\""}"#
      ),
    ] as [(CommandResult, String)])
  func aResultIsReadAsItIsWritten(result: CommandResult, payload: String) throws {
    #expect(String(decoding: result.payload, as: UTF8.self) == payload)
    #expect(try CommandResult(payload: result.payload) == result)
  }

  @Test(arguments: [ready, outOfStock, applied])
  func aRepetitionIsTheSameResultMarked(result: CommandResult) throws {
    var marked = result
    marked.isDuplicate = true
    let payload = String(decoding: result.payload.dropLast(), as: UTF8.self)
    #expect(String(decoding: marked.payload, as: UTF8.self) == payload + #","duplicate":true}"#)
    #expect(try CommandResult(payload: marked.payload) == marked)
  }

  @Test(arguments: RejectionReason.allCases)
  func everyReasonComesThrough(reason: RejectionReason) throws {
    let result = CommandResult(Rejection(reason, ""))
    #expect(try CommandResult(payload: result.payload).reason == reason)
  }

  @Test func theReasonsAreThoseOfTheProtocolPage() throws {
    var project = URL(filePath: #filePath)
    for _ in 1...4 { project.deleteLastPathComponent() }
    let page = try String(
      contentsOf: project.appending(path: "deploy/docs/protocol.md"), encoding: .utf8)
    let table = try #require(page.firstMatch(of: /\| reason \|.*\n((?:\|.*\n)+)/)).1
    let listed = table.matches(of: /(?m)^\| (.*?) \|/).flatMap { row in
      row.1.matches(of: /`(\w+)`/).map { String($0.1) }
    }
    #expect(listed == RejectionReason.allCases.map(\.rawValue))
  }

  @Test(arguments: ["", "{}", "[]", #"{"status":"done"}"#, #"{"status":1}"#, #"{"status":"ready""#])
  func whatHasNoStatusIsNoResult(payload: String) {
    #expect(throws: JSONError.self) { try CommandResult(payload: Array(payload.utf8)) }
  }

  @Test func membersOfAnotherKindAreIgnored() throws {
    let payload = #"{"status":"ready","id":"a b","ticket":"1","juice":7,"used":[],"new":{}}"#
    #expect(
      try CommandResult(payload: Array(payload.utf8)) == CommandResult(status: .ready))
  }

  @Test func theCustomerReadsTheWordsOfTheOriginal() throws {
    let name = try #require(Menu.standard.juice("strawberry_banana")).name
    #expect(CustomerMessage.ready(name[.korean], in: .korean) == "딸바쥬스 나왔습니다! 맛있게 드세요!")
    #expect(
      CustomerMessage.ready(name[.english], in: .english)
        == "Strawberry banana juice is ready. Enjoy!")
    #expect(CustomerMessage.outOfStock(in: .korean) == "재료가 모자라요. 재고를 수정할까요?")
    #expect(CustomerMessage.outOfStock(in: .english) == "Not enough fruit. Update the stock?")
    #expect(CustomerMessage.closed(in: .english) == "We are closed right now.")
    #expect(CustomerMessage.closed(in: .korean) == "지금은 영업시간이 아닙니다.")
  }
}
