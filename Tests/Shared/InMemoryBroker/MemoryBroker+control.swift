package import MessageBroker

/// What goes wrong, on demand.
extension MemoryBroker {
  /// Lets the connection break at one step of a client's work, once. Several faults of one kind
  /// happen one after the other.
  package func inject(_ fault: Fault) { update { $0.faults.append(fault) } }

  /// Of those that were injected none will happen any more.
  package func removeFaults() { update { $0.faults = [] } }

  /// Ends the connection of a client as a failing network does. Its will is published, and it tries
  /// again after the usual delay.
  package func cut(_ clientID: String) { update { $0.cut(clientID) } }

  /// Ends a client as `kill -9` ends its process: the broker sees the connection break, and nothing
  /// that the object is asked to do from now on has any effect.
  package func kill(_ client: MemoryClient) { update { $0.kill(client.number) } }

  /// Loses a client's session, as an operator or a failing disk does; cuts the connection first.
  package func dropSession(of clientID: String) { update { $0.dropSession(of: clientID) } }

  /// Refuses every login from now on. Connections that are there stay.
  package func refuseLogins(_ refuses: Bool = true) { update { $0.server.refusesLogins = refuses } }

  /// Refuses from now on to subscribe anybody to this very filter.
  package func refuseSubscription(to filter: TopicFilter) {
    update { _ = $0.server.refusedSubscriptions.insert(filter) }
  }

  /// Drops from now on what is published to the topics that the filter selects. It is acknowledged
  /// all the same, as MQTT 3.1.1 knows no other way (3.3.5).
  package func refusePublish(to filter: TopicFilter) {
    update { _ = $0.server.refusedPublishes.insert(filter) }
  }

  /// Ends from now on the connection of whoever publishes to the topics that the filter selects, as
  /// mosquitto does for a topic of more than 200 levels, and RabbitMQ for one that is not allowed.
  package func endConnections(publishingTo filter: TopicFilter) {
    update { _ = $0.server.fatalPublishes.insert(filter) }
  }

  /// Stops the broker: connections are lost, wills published, and attempts to connect fail.
  package func stop() { update { $0.stop() } }

  /// Writes down sessions, queues and retained messages for a later `start(restoring: .lastSave)`.
  package func save() { update { $0.save() } }

  /// Starts the broker again after `stop()`.
  package func start(restoring memory: Persistence = .everything) {
    update { $0.start(restoring: memory) }
  }
}

/// What a test may look at.
extension MemoryBroker {
  /// The retained message of a topic.
  package func retained(_ topic: String) -> Message? {
    read { $0.server.retained(topic, at: $0.now) }
  }

  /// The topics that have a retained message, sorted.
  package var retainedTopics: [String] { read { $0.server.retainedTopics(at: $0.now) } }

  /// Whether there is a session for this client id, connected or not.
  package func sessionExists(_ clientID: String) -> Bool {
    update { network in
      network.server.removeExpired(at: network.now)
      return network.server.sessions[clientID] != nil
    }
  }

  /// Whether a client with this id is connected.
  package func isConnected(_ clientID: String) -> Bool {
    read { $0.server.sessions[clientID]?.connection != nil }
  }

  /// How many connections of a client id have broken.
  package func losses(of clientID: String) -> Int { read { $0.losses[clientID] ?? 0 } }

  /// How many messages a session holds, sent and unacknowledged ones included.
  package func queueDepth(of clientID: String) -> Int {
    read { $0.server.sessions[clientID]?.depth ?? 0 }
  }
}
