/// Tells the press of a new button from everything else that devices say meanwhile.
///
/// A message that only a button sends is believed at once. Any other word is kept for a while, because most
/// devices say a press in more than one way, and not the best one first.
package struct DeviceDiscovery: Sendable {
  private let start: Duration
  private var learned: [Recognition] = []
  private var guesses: [(recognition: Recognition, at: Duration)] = []
  /// The last count on each topic of a device that repeats its last event over and over.
  private var counts: [String: String] = [:]
  /// When the contact of such a device was closed, by topic.
  private var contacts: [String: Duration] = [:]
  private var uncertain: [Recognition] = []

  /// A device tells of a long press when it is over, up to three seconds after the contact.
  private static let confirmationDelay = Duration.seconds(3)
  /// No more topics are remembered, so that made-up topics cannot fill the memory.
  private static let maximumTopics = 1000

  /// - Parameter start: when listening began.
  package init(at start: Duration) { self.start = start }

  package enum Observation: Hashable, Sendable {
    case nothing
    case press(Recognition)
    /// It may be a press, or an old one that the device repeats.
    case uncertain(Recognition)
  }

  /// Takes in a message that was not retained.
  package mutating func observe(_ payload: [UInt8], on topic: String, at now: Duration)
    -> Observation
  {
    noteContact(payload, on: topic, at: now)
    guard let recognition = Recognition(payload, on: topic) else {
      // A device that was just switched on says an event without a name.
      if topic.contains(Self.event), counts.count < Self.maximumTopics { counts[topic] = "" }
      return .nothing
    }
    guard !learned.contains(where: { $0.covers(recognition) }) else { return .nothing }
    if let mark = recognition.mark, mark.kind == .repeatedCounter {
      guard let isNew = isNew(mark, of: recognition, at: now) else { return .nothing }
      guard isNew else {
        uncertain.append(recognition)
        return .uncertain(recognition)
      }
    }
    guard recognition.certainty == .certain else {
      if guesses.count < Self.maximumTopics { guesses.append((recognition, now)) }
      return .nothing
    }
    return .press(learn(recognition))
  }

  /// When to call `resolve`; `nil`: no word is kept.
  package var due: Duration? { guesses.first.map { $0.at + Self.confirmationDelay } }

  /// The likeliest of the words that were kept, if they were kept for long enough.
  package mutating func resolve(at now: Duration) -> Recognition? {
    guard let due, now >= due else { return nil }
    let best = guesses.map(\.recognition).reduce(guesses[0].recognition) {
      $0.certainty < $1.certainty ? $1 : $0
    }
    return learn(best)
  }

  /// At the end, the device that may have been pressed, if there is only one.
  package var remaining: Recognition? {
    Set(uncertain.map(\.topic)).count == 1 ? uncertain.last : nil
  }

  private mutating func learn(_ recognition: Recognition) -> Recognition {
    guesses = []
    uncertain.removeAll { recognition.covers($0) }
    learned.append(recognition)
    return recognition
  }

  /// How many topics and words are remembered.
  var size: Int { guesses.count + counts.count + contacts.count + uncertain.count }

  // MARK: Devices that repeat their last event over and over

  private static let event = "/input_event/"

  /// Whether an event has just happened; `nil` if it was heard before.
  private mutating func isNew(
    _ mark: Signal.Mark, of recognition: Recognition, at now: Duration
  ) -> Bool? {
    let topic = recognition.receivedOn
    let last = counts[topic]
    guard last != mark.value else { return nil }
    guard last != nil || counts.count < Self.maximumTopics else { return nil }
    counts[topic] = mark.value
    // By then each device that is on has repeated its old event.
    if last != nil || now - start >= ShellyGen1.repetition { return true }
    return contacts[topic].map { now - $0 <= Self.confirmationDelay } ?? false
  }

  /// A device on mains power tells of the contact before the event: `input/0` `1`
  /// (shelly-api-docs.shelly.cloud/gen1, "MQTT").
  private mutating func noteContact(_ payload: [UInt8], on topic: String, at now: Duration) {
    guard payload == [UInt8(ascii: "1")], topic.contains("/input/") else { return }
    if contacts.count >= Self.maximumTopics {
      contacts = contacts.filter { now - $0.value <= Self.confirmationDelay }
    }
    guard contacts.count < Self.maximumTopics else { return }
    contacts[topic.replacing("/input/", with: Self.event)] = now
  }
}

extension Recognition {
  /// Whether a panel for this device would hear the other message, too, or the same press.
  fileprivate func covers(_ other: Recognition) -> Bool {
    switch dialect {
    case .generic: dialect == other.dialect && topic == other.topic
    case .zigbee2MQTT: [topic, "\(topic)/action"].contains(other.receivedOn)
    case .tasmota, .shellyGen1, .shellyGen2, .esphome: other.receivedOn.hasPrefix("\(topic)/")
    }
  }
}
