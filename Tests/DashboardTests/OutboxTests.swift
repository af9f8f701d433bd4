import KioskMessages
import Testing

@testable import Dashboard

@Suite struct OutboxTests {
  private var outbox = Outbox()

  private func notice(_ number: Int) -> Notice {
    Notice(
      id: "n\(number)", at: Timestamp(milliseconds: Int64(number) * 1000), subject: "s",
      text: "line \(number)\n\"한글\"")
  }

  /// - Returns: whether another had to give way.
  private mutating func put(_ number: Int, for receivers: [String] = ["a"]) -> Bool {
    outbox.put(notice(number), for: receivers)
  }

  @Test mutating func eachReceiverGetsEachMessageInOrder() {
    for number in 1...2 { _ = put(number, for: ["a", "b"]) }
    #expect(outbox.next(for: "a")?.id == "n1")
    outbox.isDelivered("n1", to: "a")
    outbox.isDelivered("n1", to: "a")
    #expect(outbox.next(for: "a")?.id == "n2")
    #expect(outbox.next(for: "b")?.id == "n1")
    outbox.isDelivered("n2", to: "a")
    #expect(outbox.next(for: "a") == nil)
    #expect(outbox.next(for: "b", except: ["n1"])?.id == "n2")
    outbox.isDelivered("n1", to: "b")
    outbox.isDelivered("n2", to: "b")
    #expect(outbox.count == 0)
  }

  @Test mutating func theOldestGivesWay() {
    let gaveWay = (1...Outbox.limit + 1).map { put($0) }
    #expect(gaveWay.firstIndex(of: true) == Outbox.limit)
    #expect(outbox.count == Outbox.limit)
    #expect(outbox.next(for: "a")?.id == "n2")
  }

  @Test mutating func afterADayItIsGivenUp() {
    for number in 1...3 { _ = put(number) }
    let day = Int64(24 * 3_600_000)
    let givenUp = [day + 999, day + 2000].map { outbox.giveUp(at: Timestamp(milliseconds: $0)) }
    #expect(givenUp == [0, 2])
    #expect(outbox.next(for: "a")?.id == "n3")
  }

  @Test mutating func itIsReadAsItWasWritten() throws {
    for number in 1...2 { _ = put(number, for: ["a", "b"]) }
    outbox.isDelivered("n1", to: "a")
    let json = try JSON.parse(JSONWriter.object { outbox.write(to: &$0) })
    #expect(Outbox(json, receivers: ["a", "b"]) == outbox)
    // Who is not told any more is forgotten.
    let others = Outbox(json, receivers: ["a", "c"])
    #expect(others.count == 1)
    #expect(others.next(for: "a")?.id == "n2")
  }

  @Test(arguments: [
    "{}", #"{"messages":{}}"#, #"{"messages":[1,{"to":["a"]}]}"#,
    #"{"messages":[{"id":"a\r\nb","at":"2026-11-21T09:00:00Z","subject":"","text":"","to":["a"]}]}"#,
  ])
  func whatCannotBeReadIsLeftOut(json: String) throws {
    #expect(Outbox(try JSON.parse(Array(json.utf8)), receivers: ["a"]).count == 0)
  }
}
