import MessageBroker
import Testing

/// How long an event that must come may take. Only a failing test waits this long.
private let deadline = Duration.seconds(60)

/// Waiting for events with a deadline in real time, whatever clock the broker follows.
extension BrokerClient {
  /// The next event, which must come.
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

  /// Waits until the client is online; deliveries of a resumed session must not come before.
  ///
  /// - Returns: whether the session is a new one.
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

  /// Waits until the client is offline, and tells why it is.
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

  /// Waits until an `update` holds.
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

  /// The next batch, to be settled by the test. Passes over `.online`, which comes before or after
  /// what a resumed session delivers, and over `.offline`, which comes before a resumption.
  func nextBatch(_ location: SourceLocation = #_sourceLocation) async throws -> [Delivery] {
    while true {
      if case .deliveries(let deliveries) = try await event(location) { return deliveries }
    }
  }

  /// So many deliveries and no more with them, in as many batches as they come; all settled.
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

  /// The payloads of so many deliveries, as text; all settled.
  func nextTexts(
    _ count: Int, _ location: SourceLocation = #_sourceLocation
  ) async throws -> [String] {
    try await nextDeliveries(count, location).map(\.text)
  }

  /// Waits until the broker has acknowledged what was published up to this running number.
  func expectConfirmed(
    _ number: UInt64, _ location: SourceLocation = #_sourceLocation
  ) async throws {
    while confirmed < number {
      try #require(try await event(location) == .confirmed, sourceLocation: location)
    }
    #expect(confirmed == number, sourceLocation: location)
  }

  /// Publishes and waits until the broker has it.
  func publishAndConfirm(
    _ messages: [Message], _ location: SourceLocation = #_sourceLocation
  ) async throws {
    try await expectConfirmed(publish(messages), location)
  }
}

/// Expects redeliveries under the packet ids of the first time, where the broker keeps them.
func expectSamePacketIDs(
  _ again: [Delivery], _ first: [Delivery], _ kind: BrokerKind,
  _ location: SourceLocation = #_sourceLocation
) {
  let expected =
    kind.behavior.keepsPacketIDs ? first.map(\.packetID) : (1...first.count).map(UInt16.init)
  #expect(again.map(\.packetID) == expected, sourceLocation: location)
}

extension BrokerFixture {
  /// Makes a client, connects it and waits until it is online.
  func onlineClient(
    _ clientID: String, _ filters: String..., options: (inout SessionOptions) -> Void = { _ in },
    location: SourceLocation = #_sourceLocation
  ) async throws -> any BrokerClient {
    let client = try await connectedClient(clientID, filters, options)
    try await client.expectOnline(location)
    return client
  }

  /// Makes a client that resumes the session of this id, and connects it. What the session holds
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
  /// Makes the session one that outlives its connections.
  ///
  /// Not with a clean start at first: MQTT 3.1.1 knows no session that starts clean and stays.
  mutating func lasts(_ expiry: Duration = .seconds(3600)) {
    cleanStart = false
    sessionExpiry = expiry
  }
}

extension Delivery {
  var text: String { String(decoding: message.payload, as: UTF8.self) }
}
