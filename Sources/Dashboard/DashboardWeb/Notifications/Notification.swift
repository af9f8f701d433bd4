import JuiceDomain
package import KioskProtocol

/// A message to the receivers that the configuration names.
package struct Notification: Hashable, Sendable, Identifiable {
  /// An identifier that is equal for each delivery attempt.
  package let id: String
  package let at: Timestamp
  /// The subject, on one line.
  package let subject: String
  package var text: String
  /// Number of alerts that the message reports. The text may list fewer alerts.
  package let alerts: Int

  package init(
    id: String = CommandID.random.text, at: Timestamp, subject: String, text: String,
    alerts: Int = 1
  ) {
    (self.id, self.at, self.subject, self.text) = (id, at, subject, text)
    self.alerts = alerts
  }
}

// Notifications as JSON, for the disk.
extension Notification {
  func write(to json: inout JSONWriter) {
    json.member("id", id)
    json.member("at", at.description)
    json.member("subject", subject)
    json.member("text", text)
    json.member("alerts", alerts)
  }

  init?(_ json: JSON) {
    guard let id = json.text("id").flatMap({ CommandID($0) }),
      let at = json.text("at").flatMap(Timestamp.init), let subject = json.text("subject"),
      let text = json.text("text")
    else { return nil }
    self.init(
      id: id.text, at: at, subject: subject, text: text, alerts: json.integer("alerts") ?? 1)
  }
}
