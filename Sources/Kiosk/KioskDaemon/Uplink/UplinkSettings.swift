package import KioskProtocol

/// How a kiosk's ledger is carried up.
package struct UplinkSettings: Sendable, Hashable {
  /// As they are called up there.
  package var topics: KioskTopics
  /// What the client id of each connection begins with.
  package var clientID: String
  /// Entries in a second.
  package var pace: Int

  package init(topics: KioskTopics, clientID: String, pace: Int = 200) {
    self.topics = topics
    self.clientID = clientID
    self.pace = pace
  }
}
