import JuiceDomain
import Testing

@testable import KioskProtocol

@Suite struct RequestEncodingTests {
  @Test(arguments: [
    (Request(command: .order(Order(juice: "banana"))), #"{"juice":"banana","quantity":1}"#),
    (
      Request(
        id: "a1", sentAt: Timestamp(milliseconds: 1_795_251_600_000),
        command: .order(Order(juice: "strawberry_banana", quantity: 3))),
      #"{"id":"a1","juice":"strawberry_banana","quantity":3,"sent_at":"2026-11-21T09:00:00Z"}"#
    ),
    (
      Request(
        id: "r1",
        command: .restock(Restock(add: ["strawberry": 20, "kiwi": -1], expect: ["mango": 4]))),
      #"{"id":"r1","add":{"kiwi":-1,"strawberry":20},"expect":{"mango":4}}"#
    ),
    (Request(command: .restock(Restock(set: ["mango": 30]))), #"{"set":{"mango":30}}"#),
    (Request(id: "s1", command: .service(.closed)), #"{"id":"s1","service":"closed"}"#),
    (Request(command: .service(.open)), #"{"service":"open"}"#),
    (
      Request(id: "d1", command: .job(JobDecision(job: 12, choice: .giveBack))),
      #"{"id":"d1","job":12,"decision":"give_back"}"#
    ),
    (
      Request(command: .job(JobDecision(job: 12, choice: .again, used: ["kiwi": 1]))),
      #"{"job":12,"decision":"again","used":{"kiwi":1}}"#
    ),
    (
      Request(command: .made(MachineAnswer(job: 12, status: .done))),
      #"{"job":12,"status":"done"}"#
    ),
    (
      Request(
        command: .made(
          MachineAnswer(job: 12, status: .failed(reason: "jam", used: ["kiwi": 1])))),
      #"{"job":12,"status":"failed","reason":"jam","used":{"kiwi":1}}"#
    ),
  ])
  func aRequestIsReadAsItIsWritten(request: Request, payload: String) throws {
    #expect(String(decoding: request.payload, as: UTF8.self) == payload)
    #expect(try Request(kind: request.command.kind, payload: request.payload) == request)
  }
}
