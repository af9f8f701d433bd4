import KioskProtocol

/// The topics on which several devices publish, as receivers of radio sensors do.
package struct SharedTopics: Sendable {
  private var devices: [String: Set<String>] = [:]
  /// Maximum number of topics, so that invented topics cannot exhaust the memory.
  private static let maximumTopics = 1000

  package init() {}

  /// Examines a message.
  ///
  /// - Returns: A warning when the second device publishes on a topic; otherwise `nil`.
  package mutating func observe(_ payload: [UInt8], on topic: String) -> String? {
    guard devices[topic] != nil || devices.count < Self.maximumTopics,
      devices[topic]?.count != 2, let json = try? JSON.parse(payload),
      let model = json["model"]?.word, let id = json["id"]?.word
    else { return nil }
    let device = "\(model) \(id)"
    guard devices[topic, default: []].insert(device).inserted,
      let both = devices[topic]?.sorted(), both.count == 2
    else { return nil }
    return
      "\(topic) has messages of several devices (\(both.joined(separator: ", "))): a sensor needs "
      + "key: /id, and device with its id"
  }
}
