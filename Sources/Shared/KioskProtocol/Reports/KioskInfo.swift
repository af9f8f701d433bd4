package import JuiceDomain

/// The description of a kiosk, published once after each start.
package struct KioskInfo: Hashable, Sendable {
  package let version: String
  package let startedAt: Timestamp
  /// The display name of the kiosk, or `nil` to use its id.
  package let name: LocalizedName?
  /// The location: an address, coordinates or directions.
  package let place: String?
  /// The version of the menu from upstream, or `nil` if the kiosk uses its own.
  package let menuVersion: Int?
  /// The reason why the kiosk does not use the stored menu from upstream, or `nil` if there is none.
  package let menuProblem: String?

  /// The version of topics and payloads.
  package static let protocolVersion = 1
  /// Maximum number of Unicode scalars in the name in one language, and in the place.
  package static let (maximumName, maximumPlace) = (64, 200)
  private static let maximumProblem = 300

  package init(
    version: String, startedAt: Timestamp, name: LocalizedName? = nil, place: String? = nil,
    menuVersion: Int? = nil, menuProblem: String? = nil
  ) {
    self.version = version
    self.startedAt = startedAt
    self.name = name
    self.place = place
    self.menuVersion = menuVersion
    self.menuProblem = menuProblem
  }

  package var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("version", version)
      json.member("protocol", Self.protocolVersion)
      json.member("started_at", startedAt.description)
      if let name { json.member("name", name) }
      if let place { json.member("place", place) }
      if let menuVersion { json.member("menu_version", menuVersion) }
      if let menuProblem { json.member("menu_problem", menuProblem) }
    }
  }

  /// Parses a payload, ignoring unknown members. Texts for people are truncated, and invisible
  /// characters removed.
  ///
  /// - Throws: `JSONError` if the payload is not an info.
  package init(payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    guard let version = json.text("version"),
      let startedAt = json.text("started_at").flatMap({ Timestamp($0) })
    else { throw JSONError(offset: 0, problem: "version or started_at is missing") }
    self.init(
      version: version.visible(upTo: Self.maximumName), startedAt: startedAt,
      name: json["name"].flatMap(LocalizedName.init),
      place: json.visibleText("place", upTo: Self.maximumPlace),
      menuVersion: json.integer("menu_version"),
      menuProblem: json.visibleText("menu_problem", upTo: Self.maximumProblem))
  }
}

extension LocalizedName {
  /// Reads a name, or returns `nil` if there is none in any language.
  fileprivate init?(_ json: JSON) {
    let limit = KioskInfo.maximumName
    let english = json.visibleText("en", upTo: limit)
    let korean = json.visibleText("ko", upTo: limit)
    guard let fallback = english ?? korean else { return nil }
    self.init(english: english, korean: korean, fallback: fallback)
  }
}
