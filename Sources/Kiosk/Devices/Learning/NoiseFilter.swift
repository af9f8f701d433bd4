/// Recognizes messages that devices publish without a press of a button.
enum NoiseFilter {
  /// Returns whether a topic is for states, measurements, log lines or commands, and not for
  /// presses.
  static func isOn(_ levels: [Substring]) -> Bool {
    guard let last = levels.last?.lowercased() else { return true }
    // OpenBK publishes a press as `single` on `<device>/btn/get`, and the value of a channel on
    // `<device>/1/get`.
    let isPressOfOpenBK = last == "get" && levels.dropLast().last == "btn"
    if topics.contains(last) && !isPressOfOpenBK || levels.first == "cmnd" { return true }
    // www.zigbee2mqtt.io/guide/usage/mqtt_topics_and_messages.html
    if levels.dropFirst().first == "bridge" { return true }
    // esphome.io/components/mqtt: <prefix>/<component>/<id>/state
    if levels.count > 2, last == "state", components.contains(String(levels[levels.count - 3])) {
      return true
    }
    // The state of a Shelly's contact. The device publishes each press as an event as well
    // (shelly-api-docs.shelly.cloud/gen1, "MQTT").
    return levels.count > 1 && ["input", "longpush"].contains(levels[levels.count - 2])
      && levels[levels.count - 1].isNumber
  }

  /// Returns whether a payload that is not a JSON object may be a word for a press.
  static func mayBePress(_ payload: [UInt8], on levels: [Substring]) -> Bool {
    guard payload.count <= 64, let text = String(validating: payload, as: UTF8.self) else {
      return false
    }
    let word = text.filter { !$0.isNewline }
    let isForButtons = levels.contains(where: namesButton)
    // Other characters occur in log lines, and not in words for a press.
    guard
      word.allSatisfy({
        $0.isLetter || $0.isNumber || "_-.:".contains($0) || isForButtons && $0 == " "
      })
    else { return false }
    return isForButtons
      ? !isNothing(word) && word.lowercased() != "off"
      : !isNothing(word) && !states.contains(word.lowercased()) && !isMeasurement(word)
  }

  /// Returns whether a word reports the end of a press, or the availability of the device.
  static func isNothing(_ word: String) -> Bool {
    let word = word.lowercased()
    return over.contains(word) || presences.contains(word)
  }

  /// Returns whether a word is a measurement: `21.5`, `3 W`, `12:30`.
  private static func isMeasurement(_ word: String) -> Bool {
    let rest = word.drop { $0.isNumber || "+-.,:".contains($0) }
    return rest.count < word.count && rest.count <= 3
      && rest.allSatisfy { !$0.isNumber && $0 != "_" }
  }

  /// Returns whether a JSON member, named in lower case, is a measurement, a state or a command.
  static func namesMeasurement(_ name: String) -> Bool { topics.contains(name) }

  /// Returns whether the name of a topic level or a JSON member names a button: `front-button`.
  static func namesButton(_ name: some StringProtocol) -> Bool {
    name.lowercased().split { !$0.isLetter }.contains { part in
      buttons.contains(part) || part.hasPrefix("button") || part.hasSuffix("button")
    }
  }

  private static let topics: Set = [
    "announce", "availability", "available", "battery", "command", "connected", "current", "debug",
    "energy", "get", "humidity", "idle", "info", "info1", "info2", "info3", "ip", "linkquality",
    "log",
    "logging", "logs", "lwt", "online", "power", "rssi", "set", "status", "temperature", "uptime",
    "version", "voltage",
  ]
  private static let components: Set = [
    "alarm_control_panel", "climate", "cover", "date", "datetime", "fan", "light", "lock", "number",
    "select", "sensor", "switch", "text", "text_sensor", "time", "update", "valve",
  ]
  private static let over: Set = [
    "", "0", "clear", "false", "none", "null", "release", "released", "unknown",
  ]
  private static let presences: Set = [
    "alive", "available", "boot", "connected", "dead", "disconnected", "heartbeat", "keepalive",
    "offline", "online", "ping", "ready", "running", "started", "startup", "unavailable", "update",
    "updated",
  ]
  private static let states: Set = [
    "active", "away", "changed", "charging", "closed", "closing", "detected", "disabled", "enabled",
    "error", "home", "idle", "inactive", "locked", "no", "normal", "not_home", "off", "ok", "on",
    "open", "opening", "standby", "stopped", "true", "unlocked", "yes",
  ]
  private static let buttons: Set<Substring> = [
    "action", "bell", "btn", "click", "doorbell", "gesture", "input", "key", "keypad", "knob",
    "press", "push", "remote", "tap",
  ]
}
