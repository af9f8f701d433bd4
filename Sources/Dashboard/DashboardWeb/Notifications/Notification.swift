import JuiceDomain
package import KioskProtocol

/// A message to people.
package struct Notification: Hashable, Sendable, Identifiable {
  /// The same for each attempt to deliver it.
  package let id: String
  package let at: Timestamp
  /// One line.
  package let subject: String
  package var text: String

  package init(id: String = CommandID.random.text, at: Timestamp, subject: String, text: String) {
    (self.id, self.at, self.subject, self.text) = (id, at, subject, text)
  }
}

// As JSON, for the disk.
extension Notification {
  func write(to json: inout JSONWriter) {
    json.member("id", id)
    json.member("at", at.description)
    json.member("subject", subject)
    json.member("text", text)
  }

  init?(_ json: JSON) {
    guard let id = json.text("id").flatMap({ CommandID($0) }),
      let at = json.text("at").flatMap(Timestamp.init), let subject = json.text("subject"),
      let text = json.text("text")
    else { return nil }
    self.init(id: id.text, at: at, subject: subject, text: text)
  }
}
