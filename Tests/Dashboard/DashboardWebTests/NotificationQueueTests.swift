import KioskProtocol
import Testing

@testable import DashboardWeb

@Suite struct NotificationQueueTests {
  private var queue = NotificationQueue()

  private func notification(_ number: Int) -> Notification {
    Notification(
      id: "n\(number)", at: Timestamp(milliseconds: Int64(number) * 1000), subject: "s",
      text: "line \(number)\n\"한글\"")
  }

  /// Returns whether another message was discarded.
  private mutating func put(_ number: Int, for receivers: [String] = ["a"]) -> Bool {
    queue.append(notification(number), for: receivers)
  }

  @Test mutating func eachReceiverGetsEachMessageInOrder() {
    for number in 1...2 { _ = put(number, for: ["a", "b"]) }
    #expect(queue.next(for: "a")?.id == "n1")
    queue.markDelivered("n1", to: "a")
    queue.markDelivered("n1", to: "a")
    #expect(queue.next(for: "a")?.id == "n2")
    #expect(queue.next(for: "b")?.id == "n1")
    queue.markDelivered("n2", to: "a")
    #expect(queue.next(for: "a") == nil)
    #expect(queue.next(for: "b", except: ["n1"])?.id == "n2")
    queue.markDelivered("n1", to: "b")
    queue.markDelivered("n2", to: "b")
    #expect(queue.count == 0)
  }

  @Test mutating func theOldestGivesWay() {
    let gaveWay = (1...NotificationQueue.limit + 1).map { put($0) }
    #expect(gaveWay.firstIndex(of: true) == NotificationQueue.limit)
    #expect(queue.count == NotificationQueue.limit)
    #expect(queue.next(for: "a")?.id == "n2")
  }

  @Test mutating func afterADayItIsGivenUp() {
    for number in 1...3 { _ = put(number) }
    let day = Int64(24 * 3_600_000)
    let givenUp = [day + 999, day + 2000].map {
      queue.removeExpired(at: Timestamp(milliseconds: $0))
    }
    #expect(givenUp == [0, 2])
    #expect(queue.next(for: "a")?.id == "n3")
  }

  @Test mutating func itIsReadAsItWasWritten() throws {
    for number in 1...2 { _ = put(number, for: ["a", "b"]) }
    queue.markDelivered("n1", to: "a")
    let json = try JSON.parse(JSONWriter.object { queue.write(to: &$0) })
    #expect(NotificationQueue(json, receivers: ["a", "b"]) == queue)
    // A receiver that is not configured is removed.
    let others = NotificationQueue(json, receivers: ["a", "c"])
    #expect(others.count == 1)
    #expect(others.next(for: "a")?.id == "n2")
  }

  @Test(arguments: [
    "{}", #"{"messages":{}}"#, #"{"messages":[1,{"to":["a"]}]}"#,
    #"{"messages":[{"id":"a\r\nb","at":"2026-11-21T09:00:00Z","subject":"","text":"","to":["a"]}]}"#,
  ])
  func whatCannotBeReadIsLeftOut(json: String) throws {
    #expect(NotificationQueue(try JSON.parse(Array(json.utf8)), receivers: ["a"]).count == 0)
  }
}
