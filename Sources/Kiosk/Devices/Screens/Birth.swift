/// The message by which a device or a home automation system reports that it has restarted and has
/// lost the messages that it received before.
package struct Birth: Hashable, Sendable {
  package let topic: String
  package let payload: String

  package init(topic: String, payload: String) {
    self.topic = topic
    self.payload = payload
  }

  package func matches(topic: String, payload: [UInt8]) -> Bool {
    topic == self.topic && payload.elementsEqual(self.payload.utf8)
  }
}
