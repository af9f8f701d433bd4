import KioskProtocol

/// A device that was recognized by a press.
package struct Recognition: Hashable, Sendable {
  package let dialect: Dialect
  /// The device's own topic.
  package let topic: String
  /// The topic on which the message of the press arrived.
  package let receivedOn: String
  package let press: Signal.Press
  let mark: Signal.Mark?
  let certainty: Certainty
  /// The debounce that the device needs, or `nil` if the usual one suffices.
  var debounce: Duration?

  /// The certainty that a button was pressed.
  enum Certainty: Comparable {
    /// A word on a topic of any name.
    case word
    /// A word in a place where a press may be reported.
    case place
    /// A message that only a button sends.
    case certain
  }

  /// Finds the device that most likely sent a message. Returns `nil` if the message is no press, or
  /// if its topic or word is too long to type.
  package init?(_ payload: [UInt8], on topic: String) {
    guard payload.count <= Request.maximumPayload, topic.utf8.count <= Self.longestTopic else {
      return nil
    }
    for candidate in Self.candidates(for: payload, on: topic) {
      // If the dialect cannot read the message, the device has another dialect.
      let signal = try? candidate.dialect.read(payload, on: topic, of: candidate.topic)
      // If a device publishes a press in two forms, the panel binds the one that is no echo.
      let presses = signal?.presses ?? []
      guard let press = presses.first(where: { !$0.isEcho }) ?? presses.first,
        let name = press.names.first, name.utf8.count <= Self.longestName
      else { continue }
      dialect = candidate.dialect
      self.topic = candidate.topic
      receivedOn = topic
      self.press = press
      mark = signal?.mark
      certainty = press.isEcho ? .place : candidate.certainty
      return
    }
    return nil
  }

  private static let longestTopic = 256
  private static let longestName = 64

  private struct Candidate {
    let dialect: Dialect
    let topic: String
    let certainty: Certainty
  }

  private static func candidates(for payload: [UInt8], on topic: String) -> [Candidate] {
    let levels = topic.split(separator: "/", omittingEmptySubsequences: false)
    if let known = knownDevice(on: levels) {
      guard known.dialect == .tasmota else { return [known] }
      // A radio bridge with Tasmota publishes the messages of a remote on the topics on which
      // Tasmota publishes presses and answers. So the dialect of JSON on such a topic is guessed.
      let guessed = (try? JSON.parse(payload)).flatMap { guess(from: $0, on: topic, levels) }
      return [known].filter { $0.dialect.flaw(of: $0.topic) == nil } + [guessed].compactMap(\.self)
    }
    guard !NoiseFilter.isOn(levels) else { return [] }
    // A payload that is not a JSON object may be a word for a press, see below.
    if let json = try? JSON.parse(payload), case .object = json {
      return [guess(from: json, on: topic, levels)].compactMap(\.self)
    }
    guard NoiseFilter.mayBePress(payload, on: levels) else { return [] }
    let namesButton = levels.contains(where: NoiseFilter.namesButton)
    return [
      Candidate(
        dialect: levels.last == "action" ? .zigbee2MQTT : .generic(GenericFormat()), topic: topic,
        certainty: namesButton ? .place : .word)
    ]
  }

  private static func guess(
    from json: JSON, on topic: String, _ levels: [Substring]
  ) -> Candidate? {
    let isZigbee = json["linkquality"] != nil
    let format = GenericFormat(guessing: json, on: isZigbee ? [] : levels)
    if case .string(let action)? = json["action"], !NoiseFilter.isNothing(action),
      isZigbee || format?.counter == nil
    {
      return Candidate(
        dialect: .zigbee2MQTT, topic: topic, certainty: isZigbee ? .certain : .place)
    }
    return format.map { Candidate(dialect: .generic($0), topic: topic, certainty: .place) }
  }

  /// Returns the device if the form of the topic shows its kind, or `nil` for any other topic.
  private static func knownDevice(on levels: [Substring]) -> Candidate? {
    let dialect: Dialect
    let length: Int
    var certainty = Certainty.certain
    switch (levels.dropLast(2).last, levels.dropLast().last, levels[levels.count - 1]) {
    case (_, "input_event", let input) where input.isNumber: (dialect, length) = (.shellyGen1, 2)
    case (_, "events", "rpc"): (dialect, length) = (.shellyGen2, 2)
    // The contact may be that of a door.
    case ("binary_sensor", let object?, "state") where !object.isEmpty:
      (dialect, length, certainty) = (.esphome, 3, .place)
    case ("event", let object?, "state") where !object.isEmpty: (dialect, length) = (.esphome, 3)
    case (_, _, "RESULT"): (dialect, length) = (.tasmota, 1)
    case (_, _, let last) where last.isNumbered("BUTTON") || last.isNumbered("SWITCH"):
      (dialect, length) = (.tasmota, 1)
    default: return nil
    }
    let device = levels.dropLast(length).joined(separator: "/")
    return device.isEmpty
      ? nil : Candidate(dialect: dialect, topic: device, certainty: certainty)
  }
}

extension Signal.Press {
  /// Whether the press is in the second of the two forms in which the device publishes it.
  fileprivate var isEcho: Bool { names.first?.hasPrefix(ShellyGen2.sensor) ?? false }
}

extension Substring {
  fileprivate func isNumbered(_ name: String) -> Bool {
    hasPrefix(name) && dropFirst(name.count).isNumber
  }
}
