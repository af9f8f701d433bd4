import KioskProtocol

/// An entity of Home Assistant: a value of the kiosk, a command to the kiosk, or both.
struct Entity {
  /// The kind of the entity. The raw value is its name in Home Assistant.
  enum Component: String {
    case binarySensor = "binary_sensor"
    case button, event, number, sensor
    case `switch`
  }

  let component: Component
  /// The identifier, unique in the kiosk, of the characters `A-Z a-z 0-9 _ -`.
  let id: String
  /// The display name. Home Assistant shows it after the name of the kiosk.
  let name: String
  /// The condition under which the entity is available while the kiosk is online: a Jinja
  /// expression about the messages on a topic; or `nil` without a condition.
  let condition: (topic: String, expression: String)?
  /// Writes the members of the discovery message that are specific to this entity.
  let write: (inout JSONWriter) -> Void

  init(
    _ component: Component, _ id: String, _ name: String,
    if condition: (topic: String, expression: String)? = nil,
    write: @escaping (inout JSONWriter) -> Void
  ) {
    self.component = component
    self.id = id
    self.name = name
    self.condition = condition
    self.write = write
  }
}

extension Entity {
  /// Returns the template of a command with an id and a time, by which the kiosk recognizes a
  /// command that the broker delivers again, and rejects a command that arrives too late.
  ///
  /// - Parameter members: The other members of the command's JSON object.
  static func command(_ members: String) -> String {
    #"{"id":"{{ (utcnow().timestamp() * 1000000) | int }}","#
      + #""sent_at":"{{ utcnow().isoformat() }}",\#(members)}"#
  }
}

extension JSONWriter {
  /// Writes the topic of an entity's commands. The commands are not retained, because the broker
  /// would deliver a retained command again.
  mutating func commands(to topic: String) {
    member("command_topic", topic)
    member("retain", false)
  }
}
