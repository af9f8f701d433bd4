package import JuiceDomain

/// What a kiosk is: said once after each start.
package struct KioskInfo: Hashable, Sendable {
  package let version: String
  package let startedAt: Timestamp
  /// What people call the kiosk, if they do not use its id.
  package let name: LocalizedName?
  /// Where it stands: an address, coordinates, whatever leads there.
  package let place: String?
  /// Of the menu from above; `nil`: it has its own.
  package let menuVersion: Int?

  /// The version of the topics and payloads.
  package static let protocolVersion = 1
  /// In Unicode scalars: of the name in one language, and of the place.
  package static let (maximumName, maximumPlace) = (64, 200)

  package init(
    version: String, startedAt: Timestamp, name: LocalizedName? = nil, place: String? = nil,
    menuVersion: Int? = nil
  ) {
    self.version = version
    self.startedAt = startedAt
    self.name = name
    self.place = place
    self.menuVersion = menuVersion
  }

  package var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("version", version)
      json.member("protocol", Self.protocolVersion)
      json.member("started_at", startedAt.description)
      if let name { json.member("name", name) }
      if let place { json.member("place", place) }
      if let menuVersion { json.member("menu_version", menuVersion) }
    }
  }

  /// Of a name and a place what is too long or cannot be seen is left out.
  ///
  /// - Throws: `JSONError` if it is no info; unknown members are ignored.
  package init(payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    guard let version = json.text("version"),
      let startedAt = json.text("started_at").flatMap({ Timestamp($0) })
    else { throw JSONError(offset: 0, problem: "version or started_at is missing") }
    self.init(
      version: version, startedAt: startedAt, name: json["name"].flatMap(LocalizedName.init),
      place: json.text("place")?.visible(upTo: Self.maximumPlace),
      menuVersion: json.integer("menu_version"))
  }
}

extension LocalizedName {
  /// `nil` if it has no name in any language.
  fileprivate init?(_ json: JSON) {
    let limit = KioskInfo.maximumName
    let english = json.text("en")?.visible(upTo: limit)
    let korean = json.text("ko")?.visible(upTo: limit)
    guard let fallback = english ?? korean else { return nil }
    self.init(english: english, korean: korean, fallback: fallback)
  }
}

extension String {
  /// On one line, without what a terminal or a browser obeys, at most so many Unicode scalars of it;
  /// `nil` if there is nothing to be seen.
  fileprivate func visible(upTo limit: Int) -> String? {
    let shown = unicodeScalars.lazy.filter { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator: false
      default: true
      }
    }
    let text = String(String.UnicodeScalarView(shown.prefix(limit)))
    return text.allSatisfy(\.isWhitespace) ? nil : text
  }
}
