import KioskProtocol

/// One thing of the kiosk that Home Assistant shows, or lets somebody do.
struct Entity {
  /// What kind of thing it is, in the words of Home Assistant.
  enum Component: String {
    case binarySensor = "binary_sensor"
    case button, event, number, sensor
    case `switch`
  }

  let component: Component
  /// Unique in the kiosk; of `A-Z a-z 0-9 _ -`.
  let id: String
  /// What people read, after the kiosk's own name.
  let name: String
  /// Writes what makes it different from other entities.
  let write: (inout JSONWriter) -> Void

  init(
    _ component: Component, _ id: String, _ name: String,
    write: @escaping (inout JSONWriter) -> Void
  ) {
    self.component = component
    self.id = id
    self.name = name
    self.write = write
  }
}

extension Entity {
  /// The template of a command that counts once, however often the broker delivers it, and not at
  /// all when Home Assistant could deliver it only when it is too late.
  ///
  /// - Parameter members: the rest of the command's JSON object.
  static func command(_ members: String) -> String {
    #"{"id":"{{ (utcnow().timestamp() * 1000000) | int }}","#
      + #""sent_at":"{{ utcnow().isoformat() }}",\#(members)}"#
  }
}

extension JSONWriter {
  /// Where an entity sends what somebody does with it. Kept by the broker it would come again.
  mutating func commands(to topic: String) {
    member("command_topic", topic)
    member("retain", false)
  }
}
