import CMosquitto
package import MessageBroker

/// Other options on a connection that stays.
extension MosquittoClient {
  package func update(_ options: SessionOptions) {
    let change = SubscriptionChange(from: self.options.subscriptions, to: options.subscriptions)
    update = Update(before: self.options, change: change)
    former.formUnion(self.options.subscriptions + options.subscriptions)
    adopt(options)
    switch link {
    case .open(let connection) where connection.isGreeted && farewell == nil:
      // Not before it is known what comes of the subscriptions that were asked for last.
      if connection.onlineSince != nil { changeSubscriptions(connection, at: .now) }
    case .idle, .waiting, .connecting, .open:
      updated(refusal: nil)
    }
  }

  private func adopt(_ options: SessionOptions) {
    self.options = options
    life?.expiry = options.sessionExpiry
  }

  /// - Throws: `subscriptionRefused`, for a text that is no filter, and sends nothing.
  func subscribe(
    _ connection: Connection, to filters: [TopicFilter], at now: Instant
  ) throws(BrokerError) {
    if let filter = filters.first(where: { !$0.isValid }) {
      throw .subscriptionRefused(filter: filter.text)
    }
    connection.deadline = now + configuration.connectTimeout
    connection.refusedFilter = nil
    let isFlagged = { [options, configuration] filter in
      configuration.protocolVersion == .v5 && options.retainAsPublished.contains(filter)
    }
    let (plain, flagged) = (filters.filter { !isFlagged($0) }, filters.filter(isFlagged))
    for (filters, options) in [(plain, nil), (flagged, MQTT_SUB_OPT_RETAIN_AS_PUBLISHED)] {
      guard let packetID = connection.subscribe(to: filters, options: options) else { continue }
      connection.subscriptions.append((packetID, filters))
    }
  }

  /// What is dropped first leaves in one packet train with what is added: in between, nobody else is
  /// served.
  func changeSubscriptions(_ connection: Connection, at now: Instant) {
    guard let change = update?.change else { return }
    connection.unsubscribe(from: change.droppedFirst)
    if change.added.isEmpty {
      connection.unsubscribe(from: change.droppedLast)
      updated(refusal: nil)
    } else {
      do throws(BrokerError) {
        try subscribe(connection, to: change.added, at: now)
      } catch {
        withdraw(connection, error)
      }
    }
  }

  /// - Parameter levels: of QoS, one for each filter.
  func subscriptionAnswered(
    _ connection: Connection, _ packetID: Int32, _ levels: [Int32], _ now: Instant
  ) throws(BrokerError) {
    guard let index = connection.subscriptions.firstIndex(where: { $0.packetID == packetID })
    else { return }
    let filters = connection.subscriptions.remove(at: index).filters
    // QoS 0 instead of 1 is a refusal too: deliveries could be lost.
    let refused = connection.refusedFilter ?? zip(filters, levels).first { $0.1 != 1 }?.0
    connection.refusedFilter = refused
    guard connection.subscriptions.isEmpty else { return }
    let refusal = refused.map { BrokerError.subscriptionRefused(filter: $0.text) }
    if connection.onlineSince == nil {
      if let refusal { throw refusal }
      return online(connection, at: now)
    }
    guard let update else { return }
    if let refusal { return withdraw(connection, refusal) }
    connection.unsubscribe(from: update.change.droppedLast)
    updated(refusal: nil)
  }

  /// Goes back to the options before the update.
  private func withdraw(_ connection: Connection, _ refusal: BrokerError) {
    guard let (before, change) = update.map({ ($0.before, $0.change) }) else { return }
    connection.unsubscribe(from: change.added)
    adopt(before)
    // They were granted before.
    try? subscribe(connection, to: change.droppedFirst, at: .now)
    connection.subscriptions = []
    updated(refusal: refusal)
  }

  func updated(refusal: BrokerError?) {
    update = nil
    events.append(.updated(refusal: refusal))
  }
}
