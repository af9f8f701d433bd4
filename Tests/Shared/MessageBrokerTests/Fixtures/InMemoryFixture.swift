import InMemoryBroker
import MessageBroker

/// The in-memory broker: transmission is instantaneous, and the clock is manual.
struct InMemoryFixture: BrokerFixture {
  var broker = MemoryBroker()

  var quietPeriod: Duration { .zero }

  func client(_ clientID: String) -> any BrokerClient { broker.client() }

  func cutConnection(ofClient clientID: String) { broker.cut(clientID) }

  func stop() { broker.stop() }

  func restart(keepingSessions: Bool) {
    broker.start(restoring: keepingSessions ? .everything : .nothing)
  }

  func refuseLogins() { broker.refuseLogins() }

  func letPass(_ duration: Duration) { broker.advance(by: duration) }

  func letSessionExpire(ofClient clientID: String, _ expiry: Duration) {
    broker.advance(by: expiry + .seconds(1))
  }

  func letMessagesAge(_ duration: Duration) -> Duration {
    broker.advance(by: duration + .seconds(1))
    return duration + .seconds(1)
  }

  func refuseConnections() {}

  func letReconnect() {
    if let due = broker.nextDeadline { broker.advance(by: due - broker.now) }
  }

  func nextEvent(of client: any BrokerClient, timeout: Duration) async -> BrokerEvent? {
    await withTaskGroup(of: BrokerEvent?.self) { group in
      group.addTask { await client.nextEvent(timeout: timeout) }
      group.addTask {
        // The clock must not advance before the call above waits, which cannot be observed.
        while !Task.isCancelled {
          broker.advance(by: timeout)
          await Task.yield()
        }
        return nil
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
  }

  func tearDown() {}
}
