/// Finds the press of a new button among the messages of a broker, for `juice-kiosk learn`.
///
/// ```swift
/// var discovery = DeviceDiscovery(at: .zero)
/// // For each message that is not retained:
/// switch discovery.observe(payload, on: topic, at: now) {
/// case .press(let recognition): print(recognition.yaml(name: "hall", juice: "kiwi"))
/// case .uncertain: print("If this is your button, press it once more.")
/// case .nothing: break
/// }
/// // At the time `discovery.due`:
/// if let recognition = discovery.resolve(at: now) { ... }
/// // After the timeout:
/// if let recognition = discovery.remaining { ... }
/// ```
///
/// | message | result |
/// |---|---|
/// | one that only a button sends | `press` at once |
/// | another word that may be a press | a guess; after 3 seconds `resolve` returns the best one |
/// | an event that the device may be repeating | `uncertain` |
///
/// The discovery collects guesses for 3 seconds, because most devices publish a press in several
/// forms, and the first is often not the best.
package struct DeviceDiscovery: Sendable {
  private let start: Duration
  private var learned: [Recognition] = []
  private var guesses: [(recognition: Recognition, at: Duration)] = []
  /// The last count on each topic of a device that repeats its last event.
  private var counts: [String: String] = [:]
  /// The time at which a contact of a first-generation Shelly closed, by the topic of its event.
  private var contacts: [String: Duration] = [:]
  private var uncertain: [Recognition] = []

  /// The time for which guesses are collected, and in which an event follows its contact: a device
  /// reports a long press when the press ends, up to three seconds after the contact closes.
  private static let confirmationDelay = Duration.seconds(3)
  /// Maximum number of entries in each collection except `learned`, so that invented topics cannot
  /// exhaust the memory.
  private static let maximumTopics = 1000

  /// Begins a discovery.
  ///
  /// - Parameter start: The time at which the subscription began, by the clock of `observe`.
  package init(at start: Duration) { self.start = start }

  package enum Observation: Hashable, Sendable {
    case nothing
    case press(Recognition)
    /// A press, or an old event that the device repeats.
    case uncertain(Recognition)
  }

  /// Examines a message that is not retained.
  package mutating func observe(_ payload: [UInt8], on topic: String, at now: Duration)
    -> Observation
  {
    noteContact(payload, on: topic, at: now)
    guard let recognition = Recognition(payload, on: topic) else {
      // A device that was just switched on publishes an event without a name.
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

  /// The time at which to call `resolve`, or `nil` if there is no guess.
  package var due: Duration? { guesses.first.map { $0.at + Self.confirmationDelay } }

  /// Returns the most likely guess and deletes all guesses, or returns `nil` before the time `due`.
  package mutating func resolve(at now: Duration) -> Recognition? {
    guard let due, now >= due else { return nil }
    let best = guesses.map(\.recognition).reduce(guesses[0].recognition) {
      $0.certainty < $1.certainty ? $1 : $0
    }
    return learn(best.withDebounce(among: guesses))
  }

  /// The device of the uncertain presses, or `nil` if there are none or several devices have sent
  /// them. Read the property after the timeout.
  package var remaining: Recognition? {
    Set(uncertain.map(\.topic)).count == 1 ? uncertain.last : nil
  }

  private mutating func learn(_ recognition: Recognition) -> Recognition {
    guesses = []
    uncertain.removeAll { recognition.covers($0) }
    learned.append(recognition)
    return recognition
  }

  /// The number of entries in all collections except `learned`.
  var size: Int { guesses.count + counts.count + contacts.count + uncertain.count }

  // MARK: Devices that repeat their last event

  private static let event = "/input_event/"

  /// Returns whether an event has just happened, or `nil` if the discovery has observed the event
  /// before or observes too many topics.
  private mutating func isNew(
    _ mark: Signal.Mark, of recognition: Recognition, at now: Duration
  ) -> Bool? {
    let topic = recognition.receivedOn
    let last = counts[topic]
    guard last != mark.value else { return nil }
    guard last != nil || counts.count < Self.maximumTopics else { return nil }
    counts[topic] = mark.value
    // After this time each device that is on has repeated its last event at least once.
    if last != nil || now - start >= ShellyGen1.repetition { return true }
    return contacts[topic].map { now - $0 <= Self.confirmationDelay } ?? false
  }

  /// Records a closed contact. A device on mains power publishes the contact before the event:
  /// `input/0` `1` (shelly-api-docs.shelly.cloud/gen1, "MQTT").
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
  /// Adds a debounce to a generic device if it has sent copies of the press within a second, and no
  /// counter marks them as repeats: a radio remote sends up to 20 copies.
  fileprivate func withDebounce(
    among guesses: [(recognition: Recognition, at: Duration)]
  ) -> Recognition {
    guard dialect.name == .generic else { return self }
    var counted: [Duration] = []
    var lastMark: Signal.Mark?
    for (other, at) in guesses
    where other.dialect == dialect && other.receivedOn == receivedOn && other.press == press {
      if other.mark == nil || other.mark != lastMark { counted.append(at) }
      lastMark = other.mark
    }
    var recognition = self
    let window = Duration.seconds(1)
    if zip(counted, counted.dropFirst()).contains(where: { $1 - $0 < window }) {
      recognition.debounce = window
    }
    return recognition
  }

  /// Returns whether a panel for this device would receive the other message or the same press.
  fileprivate func covers(_ other: Recognition) -> Bool {
    switch dialect {
    case .generic: dialect == other.dialect && topic == other.topic
    case .zigbee2MQTT: [topic, "\(topic)/action"].contains(other.receivedOn)
    case .tasmota, .shellyGen1, .shellyGen2, .esphome: other.receivedOn.hasPrefix("\(topic)/")
    }
  }
}
