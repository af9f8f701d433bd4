package import MessageBroker

/// Failures on demand.
extension MemoryBroker {
  /// Injects a connection loss at one step of a client's work, once. Several faults of one kind
  /// happen one after the other.
  package func inject(_ fault: Fault) { update { $0.faults.append(fault) } }

  /// Removes the injected faults that have not happened yet.
  package func removeFaults() { update { $0.faults = [] } }

  /// Breaks the connection of a client, as a failing network does. The broker publishes the will,
  /// and the client reconnects after the usual delay.
  package func cut(_ clientID: String) { update { $0.cut(clientID) } }

  /// Ends a client, as `kill -9` ends its process: the connection breaks, and later calls of the
  /// object have no effect.
  package func kill(_ client: MemoryClient) { update { $0.kill(client.number) } }

  /// Breaks the client's connection and deletes its session, as an operator or a failing disk does.
  package func dropSession(of clientID: String) { update { $0.dropSession(of: clientID) } }

  /// Refuses all logins from now on. Existing connections remain.
  package func refuseLogins(_ refuses: Bool = true) { update { $0.server.refusesLogins = refuses } }

  /// Refuses all subscriptions to exactly this filter from now on.
  package func refuseSubscription(to filter: TopicFilter) {
    update { _ = $0.server.refusedSubscriptions.insert(filter) }
  }

  /// Drops all messages published to matching topics from now on. They are acknowledged all the
  /// same: MQTT 3.1.1 has no other response (3.3.5).
  package func refusePublish(to filter: TopicFilter) {
    update { _ = $0.server.refusedPublishes.insert(filter) }
  }

  /// Closes the connection of each client that publishes to a matching topic from now on, as
  /// mosquitto does for a topic of more than 200 levels, and RabbitMQ for a forbidden one.
  package func endConnections(publishingTo filter: TopicFilter) {
    update { _ = $0.server.fatalPublishes.insert(filter) }
  }

  /// Stops the broker: it closes connections and publishes wills, and attempts to connect fail.
  package func stop() { update { $0.stop() } }

  /// Saves sessions, queues and retained messages for a later `start(restoring: .lastSave)`.
  package func save() { update { $0.save() } }

  /// Starts the broker after `stop()`.
  package func start(restoring memory: Persistence = .everything) {
    update { $0.start(restoring: memory) }
  }
}

/// Observations for tests.
extension MemoryBroker {
  /// Returns the retained message of a topic, or `nil` if there is none.
  package func retained(_ topic: String) -> Message? {
    read { $0.server.retained(topic, at: $0.now) }
  }

  /// The topics that have a retained message, sorted.
  package var retainedTopics: [String] { read { $0.server.retainedTopics(at: $0.now) } }

  /// Returns whether there is a session for this client id, connected or not.
  package func sessionExists(_ clientID: String) -> Bool {
    update { network in
      network.server.removeExpired(at: network.now)
      return network.server.sessions[clientID] != nil
    }
  }

  /// Returns whether a client with this id is connected.
  package func isConnected(_ clientID: String) -> Bool {
    read { $0.server.sessions[clientID]?.connection != nil }
  }

  /// Returns the number of broken connections of a client id.
  package func losses(of clientID: String) -> Int { read { $0.losses[clientID] ?? 0 } }

  /// Returns the number of messages of a session, including sent and unacknowledged ones.
  package func queueDepth(of clientID: String) -> Int {
    read { $0.server.sessions[clientID]?.depth ?? 0 }
  }
}
