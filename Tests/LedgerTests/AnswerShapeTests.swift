import JuiceMaker
import KioskMessages
import Testing

@testable import Ledger

@Suite struct AnswerShapeTests {
  private func entry(_ seq: Int, id: Request.ID?, ticket: Int) -> LedgerEntry {
    LedgerEntry(
      seq: seq, at: Timestamp(milliseconds: 0), source: panel, id: id,
      outcome: .ready(
        Order(juice: "banana"), used: ["banana": 2], ticket: Ticket(day: 7, number: ticket)))
  }

  @Test func twoAnswersOfAKindHaveOneShape() throws {
    func answer(_ id: String, _ ticket: Int, _ stock: Int, _ seq: Int) -> [UInt8] {
      Array(
        #"{"id":"\#(id)","status":"ready","ticket":\#(ticket),"juice":"banana","stock":{"banana":\#(stock),"kiwi":0},"message":"Banana juice is ready.","seq":\#(seq)}"#
          .utf8)
    }
    let (one, two) = (entry(8, id: "a1", ticket: 3), entry(1_000_000, id: "7", ticket: 42))
    let first = AnswerShape(of: answer("a1", 3, 10, 8), without: .init(one))
    let second = AnswerShape(of: answer("7", 42, 123_456_789, 1_000_000), without: .init(two))
    #expect(first.bytes == second.bytes)
    #expect(first.numbers == [10, 0])
    #expect(first.payload(to: one) == answer("a1", 3, 10, 8))
    #expect(second.payload(to: two) == answer("7", 42, 123_456_789, 1_000_000))
  }

  @Test(arguments: [
    "", "{}", "0", "00", "007", "-1", "1.50", "a1", "a1a1 a1-a1", "banana bananas", "딸바쥬스 8 3 10",
    "127 128 16384 999999999999999999 1000000000000000000 99999999999999999999",
  ])
  func everyPayloadComesBackAsItWas(text: String) {
    for entry in [entry(8, id: "a1", ticket: 3), entry(8, id: nil, ticket: 8)] {
      let shape = AnswerShape(of: Array(text.utf8), without: .init(entry))
      #expect(shape.payload(to: entry) == Array(text.utf8))
    }
  }

  @Test func soDoBytesThatAreNoText() {
    let entry = entry(8, id: "a1", ticket: 3)
    for byte in UInt8.min...UInt8.max {
      let payload = [UInt8(ascii: "8"), byte, UInt8(ascii: "5")]
      let shape = AnswerShape(of: payload, without: .init(entry))
      #expect(shape.payload(to: entry) == payload)
    }
  }

  @Test func whatIsNoShapeIsNotFilled() {
    let entry = entry(8, id: "a1", ticket: 3)
    // Too many numbers, too few, and one that does not end.
    for numbers in [[1, 2], [], [0x80]] as [[UInt8]] {
      let bytes: [UInt8] = [0xFF]
      #expect(AnswerShape(bytes: bytes, numbers: numbers).payload(to: entry) == nil)
    }
  }
}
