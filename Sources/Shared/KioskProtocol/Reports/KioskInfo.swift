package import JuiceDomain

/// The description of a kiosk: the retained payload of `info`.
package struct KioskInfo: Hashable, Sendable {
  package let version: String
  package let startedAt: Timestamp
  /// The display name of the kiosk, or `nil` to use its id.
  package let name: LocalizedName?
  /// The location: an address, coordinates or directions.
  package let place: String?
  /// The region whose users may see the kiosk, or `nil` if it has none.
  package let region: String?
  /// The kiosk's own words to customers, such as opening hours and a telephone number; or `nil`.
  package let notice: LocalizedName?
  /// The language of messages to customers, or `nil` if the kiosk does not report it.
  package let language: Language?
  /// The version of the menu from upstream, or `nil` if the kiosk uses its own menu.
  package let menuVersion: Int?
  /// The reason why the kiosk does not use the stored menu from upstream, otherwise `nil`.
  package let menuProblem: String?

  /// The version of topics and payloads.
  package static let protocolVersion = 1
  /// Maximum number of Unicode scalars in the name in one language and in the region, in the place, and
  /// in the notice.
  package static let (maximumName, maximumPlace, maximumNotice) = (64, 200, 200)
  private static let maximumProblem = 300

  package init(
    version: String, startedAt: Timestamp, name: LocalizedName? = nil, place: String? = nil,
    region: String? = nil, notice: LocalizedName? = nil, language: Language? = nil,
    menuVersion: Int? = nil,
    menuProblem: String? = nil
  ) {
    self.version = version
    self.startedAt = startedAt
    self.name = name
    self.place = place
    self.region = region
    self.notice = notice
    self.language = language
    self.menuVersion = menuVersion
    self.menuProblem = menuProblem
  }
}

extension KioskInfo: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    version = try members.required("version", \.version).visible(upTo: Self.maximumName)
    members.writes("protocol") { _ in Self.protocolVersion }
    startedAt = try members.required("started_at", \.startedAt)
    name = members.optional("name", \.name)
    place = members.text("place", \.place, upTo: Self.maximumPlace)
    region = members.text("region", \.region, upTo: Self.maximumName)
    notice = members.text("notice", \.notice, upTo: Self.maximumNotice)
    language = members.optional("language", \.language)
    menuVersion = members.optional("menu_version", \.menuVersion)
    menuProblem = members.text("menu_problem", \.menuProblem, upTo: Self.maximumProblem)
  }
}

extension LocalizedName: MemberValue {
  /// Reads a name, or returns `nil` if there is none in any language.
  package init?(member json: JSON) { self.init(json, upTo: KioskInfo.maximumName) }

  package func write(_ key: StaticString, to json: inout JSONWriter) { json.member(key, self) }
}
