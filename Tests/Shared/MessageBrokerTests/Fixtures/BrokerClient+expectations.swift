import MessageBroker
import Testing

/// The timeout for an expected event. Only a failing test waits this long.
private let deadline = Duration.seconds(60)

/// Expectations of events, with a deadline in real time whatever the broker's clock.
extension BrokerClient {
  /// Returns the next event; throws if there is none.
  func event(_ location: SourceLocation = #_sourceLocation) async throws -> BrokerEvent {
    let event = await withTaskGroup(of: BrokerEvent?.self) { group in
      group.addTask { await self.nextEvent(timeout: nil) }
      group.addTask {
        try? await Task.sleep(for: deadline)
        return nil
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
    return try #require(event, "no event came", sourceLocation: location)
  }

  /// Waits until the client is online, and expects no deliveries of a resumed session before.
  ///
  /// - Returns: Whether the session is a new one.
  @discardableResult
  func expectOnline(_ location: SourceLocation = #_sourceLocation) async throws -> Bool {
    var isNew = false
    while true {
      switch try await event(location) {
      case .sessionBegan: isNew = true
      case .online: return isNew
      case .offline, .confirmed, .updated, .refused: continue
      case .deliveries(let unexpected):
        try #require(unexpected.isEmpty, "expected to be online", sourceLocation: location)
      }
    }
  }

  /// Waits until the client is offline, and returns the reason.
  @discardableResult
  func expectOffline(_ location: SourceLocation = #_sourceLocation) async throws -> BrokerError {
    while true {
      switch try await event(location) {
      case .offline(let reason): return reason
      case .confirmed: continue
      case let unexpected:
        try #require(unexpected == .confirmed, "expected to be offline", sourceLocation: location)
      }
    }
  }

  /// Waits until an `update` is applied.
  func expectUpdated(_ location: SourceLocation = #_sourceLocation) async throws {
    while true {
      switch try await event(location) {
      case .updated(let refusal):
        return #expect(refusal == nil, sourceLocation: location)
      case .offline, .confirmed: continue
      case let unexpected:
        try #require(unexpected == .confirmed, "expected an update", sourceLocation: location)
      }
    }
  }

  /// Returns the next batch, which the test has to acknowledge. Skips `.online`, which precedes or
  /// follows the deliveries of a resumed session, and `.offline`, which precedes a resumption.
  func nextBatch(_ location: SourceLocation = #_sourceLocation) async throws -> [Delivery] {
    while true {
      if case .deliveries(let deliveries) = try await event(location) { return deliveries }
    }
  }

  /// Returns exactly this number of deliveries, in any number of batches, and acknowledges them.
  func nextDeliveries(
    _ count: Int, _ location: SourceLocation = #_sourceLocation
  ) async throws -> [Delivery] {
    var deliveries: [Delivery] = []
    while deliveries.count < count {
      deliveries += try await nextBatch(location)
      acknowledge()
    }
    #expect(deliveries.count == count, sourceLocation: location)
    return deliveries
  }

  /// Returns the payloads of this number of deliveries as text, and acknowledges them.
  func nextTexts(
    _ count: Int, _ location: SourceLocation = #_sourceLocation
  ) async throws -> [String] {
    try await nextDeliveries(count, location).map(\.text)
  }

  /// Waits until the broker has acknowledged the messages up to this sequence number.
  func expectConfirmed(
    _ number: UInt64, _ location: SourceLocation = #_sourceLocation
  ) async throws {
    while confirmed < number {
      try #require(try await event(location) == .confirmed, sourceLocation: location)
    }
    #expect(confirmed == number, sourceLocation: location)
  }

  /// Publishes the messages and waits until the broker has acknowledged them.
  func publishAndConfirm(
    _ messages: [Message], _ location: SourceLocation = #_sourceLocation
  ) async throws {
    try await expectConfirmed(publish(messages), location)
  }
}

/// Expects redeliveries with the original packet ids, where the broker keeps them.
func expectSamePacketIDs(
  _ again: [Delivery], _ first: [Delivery], _ kind: BrokerKind,
  _ location: SourceLocation = #_sourceLocation
) {
  let expected =
    kind.behavior.keepsPacketIDs ? first.map(\.packetID) : (1...first.count).map(UInt16.init)
  #expect(again.map(\.packetID) == expected, sourceLocation: location)
}

extension BrokerFixture {
  /// Creates a client, connects it and waits until it is online.
  func onlineClient(
    _ clientID: String, _ filters: String..., options: (inout SessionOptions) -> Void = { _ in },
    location: SourceLocation = #_sourceLocation
  ) async throws -> any BrokerClient {
    let client = try await connectedClient(clientID, filters, options)
    try await client.expectOnline(location)
    return client
  }

  /// Creates a client that resumes the session of this id, and connects it. Messages of the session
  /// may be delivered before it is online.
  func resumedClient(_ clientID: String, _ filters: String...) async throws -> any BrokerClient {
    try await connectedClient(clientID, filters) { $0.lasts() }
  }

  private func connectedClient(
    _ clientID: String, _ filters: [String], _ change: (inout SessionOptions) -> Void
  ) async throws -> any BrokerClient {
    let client = try await client(clientID)
    var options = SessionOptions(
      clientID: clientID, subscriptions: try filters.map { try TopicFilter($0) })
    change(&options)
    await client.connect(options)
    return client
  }
}

extension SessionOptions {
  /// Makes the session outlive its connections.
  ///
  /// Without a clean start, because in MQTT 3.1.1 a session that starts clean ends with its
  /// connection.
  mutating func lasts(_ expiry: Duration = .seconds(3600)) {
    cleanStart = false
    sessionExpiry = expiry
  }
}

extension Delivery {
  var text: String { String(decoding: message.payload, as: UTF8.self) }
}
