package import KioskProtocol

/// The settings of the uplink.
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
