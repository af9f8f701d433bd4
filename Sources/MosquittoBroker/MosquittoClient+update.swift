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

  func subscribe(_ connection: Connection, to filters: [TopicFilter], at now: Instant) {
    connection.deadline = now + configuration.connectTimeout
    connection.subscription = (connection.subscribe(to: filters), filters)
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
      subscribe(connection, to: change.added, at: now)
    }
  }

  /// - Parameter levels: of QoS, one for each filter.
  func subscriptionAnswered(
    _ connection: Connection, _ levels: [Int32], _ now: Instant
  ) throws(BrokerError) {
    let filters = connection.subscription?.filters ?? []
    connection.subscription = nil
    // QoS 0 instead of 1 is a refusal too: deliveries could be lost.
    let refused = zip(filters, levels).first { $0.1 != 1 }?.0
    let refusal = refused.map { BrokerError.subscriptionRefused(filter: $0.text) }
    if connection.onlineSince == nil {
      if let refusal { throw refusal }
      return online(connection, at: now)
    }
    guard let (before, change) = update.map({ ($0.before, $0.change) }) else { return }
    if refusal == nil {
      connection.unsubscribe(from: change.droppedLast)
    } else {
      connection.unsubscribe(from: change.added)
      connection.subscribe(to: change.droppedFirst)
      adopt(before)
    }
    updated(refusal: refusal)
  }

  func updated(refusal: BrokerError?) {
    update = nil
    events.append(.updated(refusal: refusal))
  }
}
