import Fleet
import JuiceDomain
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

  private let start = ContinuousClock.Instant.start

  private func next(for receiver: String, except refused: Set<Notification.ID> = []) -> String? {
    queue.next(for: receiver, except: refused, at: start + .seconds(1000))?.notification.id
  }

  private func transition(_ kiosk: KioskID, isResolved: Bool = false) -> AlertEvaluator.Transition {
    AlertEvaluator.Transition(
      .problem(.offline, at: kiosk), isResolved: isResolved, since: Timestamp(milliseconds: 0))
  }

  /// Appends a message after that number of seconds.
  private mutating func put(
    _ number: Int, about transitions: [AlertEvaluator.Transition] = [],
    for receivers: [String] = ["a"]
  ) {
    queue.append(
      notification(number), about: transitions, for: receivers, at: start + .seconds(number))
  }

  @Test mutating func eachReceiverGetsEachMessageInOrder() {
    for number in 1...2 { put(number, for: ["a", "b"]) }
    #expect(next(for: "a") == "n1")
    queue.markDelivered("n1", to: "a")
    queue.markDelivered("n1", to: "a")
    #expect(next(for: "a") == "n2")
    #expect(next(for: "b") == "n1")
    queue.markDelivered("n2", to: "a")
    #expect(next(for: "a") == nil)
    #expect(next(for: "b", except: ["n1"]) == "n2")
    queue.markDelivered("n1", to: "b")
    queue.markDelivered("n2", to: "b")
    #expect(queue.count == 0)
  }

  @Test mutating func theOldestGiveWay() {
    for number in 1...NotificationQueue.limit { put(number) }
    #expect(queue.removeSurplus().isEmpty)
    put(NotificationQueue.limit + 1)
    #expect(queue.removeSurplus().map(\.notification.id) == ["n1", "n2"])
    #expect(queue.count == NotificationQueue.limit - 1 && queue.removeSurplus().isEmpty)
    #expect(next(for: "a") == "n3")
  }

  /// The age does not depend on the wall clock, by which each message is a different time old.
  @Test mutating func afterADayItIsGivenUp() {
    for number in 1...3 { put(number) }
    #expect(queue.next(for: "a", at: start + .seconds(601))?.age == .seconds(600))
    let day = Duration.seconds(24 * 3600)
    let givenUp = [day + .milliseconds(999), day + .seconds(2)].map { age in
      queue.removeExpired(at: start + age).map(\.notification.id)
    }
    #expect(givenUp == [[], ["n1", "n2"]])
    #expect(queue.next(for: "a", at: start)?.notification.id == "n3")
    #expect(queue.next(for: "a", at: start + day + .seconds(3)) == nil)
  }

  @Test mutating func anAlertIsInItsLatestMessageOnly() {
    put(1, about: [transition("k1"), transition("k2")])
    put(2, about: [transition("k1", isResolved: true)])
    let entries = queue.removeExpired(at: start + .seconds(90_000))
    #expect(
      entries.map(\.transitions) == [[transition("k2")], [transition("k1", isResolved: true)]])
  }

  @Test mutating func itIsReadAsItWasWritten() throws {
    for number in 1...2 {
      put(
        number, about: [transition(try #require(KioskID("k\(number)"))), transition("x")],
        for: ["a", "b"])
    }
    queue.markDelivered("n1", to: "a")
    let json = try JSON.parse(JSONWriter.object { queue.write(to: &$0) })
    // Read 100 seconds later, by the wall clock.
    let (now, time) = (start + .seconds(100), Timestamp(milliseconds: 100_000))
    #expect(NotificationQueue(json, receivers: ["a", "b"], at: now, time: time) == queue)
    // A receiver that is not configured is removed.
    queue = NotificationQueue(json, receivers: ["a", "c"], at: now, time: time)
    #expect(queue.count == 1)
    #expect(next(for: "a") == "n2")
  }

  @Test(arguments: [
    "{}", #"{"messages":{}}"#, #"{"messages":[1,{"to":["a"]}]}"#,
    #"{"messages":[{"id":"a\r\nb","at":"2026-11-21T09:00:00Z","subject":"","text":"","to":["a"]}]}"#,
  ])
  func whatCannotBeReadIsLeftOut(json: String) throws {
    let queue = NotificationQueue(
      try JSON.parse(Array(json.utf8)), receivers: ["a"], at: start,
      time: Timestamp(milliseconds: 0))
    #expect(queue.count == 0)
  }
}
