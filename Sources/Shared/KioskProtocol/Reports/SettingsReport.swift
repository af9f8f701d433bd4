import JuiceDomain

/// A stored change of the settings, with the operator who made the change.
package struct StoredSettings: Hashable, Sendable {
  package let id: Request.ID
  package let by: String
  package let at: Timestamp
  package let change: SettingsChange

  package init(id: Request.ID, by: String, at: Timestamp, change: SettingsChange) {
    (self.id, self.by, self.at, self.change) = (id, by, at, change)
  }

  package var payload: [UInt8] { JSONWriter.object { $0.members(self) } }

  /// Parses a payload, ignoring unknown members.
  ///
  /// - Throws: `JSONError` if the payload is not a change.
  package init(payload: [UInt8]) throws(JSONError) { try self.init(JSON.parse(payload)) }

  fileprivate init(_ json: JSON) throws(JSONError) {
    guard let id = json.text("id").flatMap({ Request.ID($0) }), let by = json.visibleText("by"),
      let at = json.text("at").flatMap({ Timestamp($0) })
    else { throw JSONError("id, by or at is missing") }
    do throws(Rejection) {
      self.init(id: id, by: by, at: at, change: try SettingsChange(json))
    } catch {
      throw JSONError(error.detail)
    }
  }
}

/// The published settings: the values of the kiosk's configuration file, and the change in force.
/// The values that result from both are in the `MenuReport`, except for the hours.
package struct SettingsReport: Hashable, Sendable {
  package let stored: StoredSettings?
  /// The values of the file, or of the chain's menu, without the change.
  package let file: MenuReport
  package let fileHours: OpeningHours?
  /// The reasons why parts of the change are not used.
  package let unused: [String]

  package init(
    stored: StoredSettings?, file: MenuReport, fileHours: OpeningHours?, unused: [String] = []
  ) {
    (self.stored, self.file, self.fileHours, self.unused) = (stored, file, fileHours, unused)
  }

  /// The opening hours in force, or `nil` if the kiosk is always open.
  package var hours: OpeningHours? { stored?.change.hours ?? fileHours }

  package var payload: [UInt8] {
    JSONWriter.object { json in
      if let stored { json.members(stored) }
      if !unused.isEmpty { json.member("unused", unused) }
      json.member("file") { json in
        json.members(file)
        if let fileHours { json.member("hours", fileHours) }
      }
    }
  }

  /// Parses a payload, ignoring unknown members.
  ///
  /// - Throws: `JSONError` if the payload is not a report.
  package init(payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    guard let file = json["file"] else { throw JSONError("file is missing") }
    self.init(
      stored: json["id"] == nil ? nil : try StoredSettings(json), file: try MenuReport(file),
      fileHours: file["hours"].flatMap { try? OpeningHours($0) },
      unused: (json.elements("unused") ?? []).compactMap {
        if case .string(let text) = $0 { text.visible(upTo: 200) } else { nil }
      })
  }
}

extension JSONWriter {
  fileprivate mutating func members(_ stored: StoredSettings) {
    member("id", stored.id.text)
    member("by", stored.by)
    member("at", stored.at.description)
    members(stored.change)
  }
}
