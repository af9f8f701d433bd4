/// The message of a device, or of a home automation, that has come back and has forgotten what it was told.
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
