package import JuiceDomain
import KioskProtocol
package import TimeZones
import YAMLConfiguration

extension KioskConfiguration {
  /// The identity of the kiosk, and the language of its messages to customers.
  package struct Kiosk: Sendable, Equatable {
    package var id: KioskID = "k1"
    /// The displayed name, or `nil` to display the id.
    package var name: LocalizedName?
    /// The displayed location, or `nil` to display none.
    package var place: String?
    /// The region whose users may see the kiosk on a dashboard, or `nil` if it has none.
    package var region: String?
    /// The kiosk's own words to customers, or `nil` if there are none.
    package var notice: LocalizedName?
    /// The first levels of the kiosk's topics: one or more levels without wildcards.
    package var root = "kiosk"
    package var language = Language.english
    package var timeZone = WallClock.utc

    package init() {}

    /// The name in the kiosk's language and the place, or `nil` if it has neither.
    package var displayName: String? {
      let words = [name?[language], place].compactMap(\.self)
      return words.isEmpty ? nil : words.joined(separator: ", ")
    }
  }
}

extension KioskConfiguration.Kiosk {
  init(_ section: inout Section) {
    section.read("id", .identifier(), into: &id)
    name = section.readText("name", upTo: KioskInfo.maximumName)
    section.read("place", .text(upTo: KioskInfo.maximumPlace), into: &place)
    section.read("region", .text(upTo: KioskInfo.maximumName), into: &region)
    notice = section.readText("notice", upTo: KioskInfo.maximumNotice)
    section.read("root", .root, into: &root)
    section.read("language", .choice(), into: &language)
    section.read("time_zone", .timeZone, into: &timeZone)
  }
}
