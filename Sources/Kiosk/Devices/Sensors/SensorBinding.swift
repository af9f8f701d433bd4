import KioskProtocol

/// The topic of a sensor, and the place of the value in its messages.
package struct SensorBinding: Hashable, Sendable {
  package var topic: String
  /// The member that is the value, or `nil` if the whole payload is a number.
  package var value: JSONPointer?

  package init(topic: String, value: JSONPointer? = nil) {
    self.topic = topic
    self.value = value
  }

  /// Returns the value of a message in thousandths of the unit, or `nil` if it cannot be read.
  package func read(_ payload: [UInt8]) -> Int? {
    guard payload.count <= Request.maximumPayload else { return nil }
    guard let value else {
      return JSON.string(String(decoding: payload, as: UTF8.self)).thousandths
    }
    return (try? JSON.parse(payload))?[value]?.thousandths
  }
}
