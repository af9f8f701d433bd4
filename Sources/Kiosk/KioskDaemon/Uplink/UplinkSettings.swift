package import KioskProtocol

/// The topics, the client identifier and the maximum rate of an `Uplink`.
package struct UplinkSettings: Sendable, Hashable {
  /// The topics at the upstream broker.
  package var topics: KioskTopics
  /// The prefix of the client identifier of each connection.
  package var clientID: String
  /// Maximum number of entries published per second.
  package var pace: Int

  package init(topics: KioskTopics, clientID: String, pace: Int = 200) {
    self.topics = topics
    self.clientID = clientID
    self.pace = pace
  }
}
