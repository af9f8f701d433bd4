package import Foundation
package import JuiceDomain
import KioskProtocol
import YAMLConfiguration

extension KioskConfiguration {
  /// The identity of the kiosk, and the language of its messages to customers.
  package struct Kiosk: Sendable, Equatable {
    package var id: KioskID = "k1"
    /// The displayed name, or `nil` to display the id.
    package var name: LocalizedName?
    /// The displayed location, or `nil` to display none.
    package var place: String?
    /// The first levels of the kiosk's topics: one or more levels without wildcards.
    package var root = "kiosk"
    package var language = Language.english
    package var timeZone = TimeZone.gmt

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
    name = LocalizedName(kioskIn: &section)
    section.read("place", .text(upTo: KioskInfo.maximumPlace), into: &place)
    section.read("root", .topic, into: &root)
    section.read("language", .choice(), into: &language)
    section.read("time_zone", .timeZone, into: &timeZone)
  }
}

extension LocalizedName {
  /// Reads `name`: one text for all languages, or texts by language. Returns `nil` if there is none.
  fileprivate init?(kioskIn section: inout Section) {
    let format = Format.text(upTo: KioskInfo.maximumName)
    guard section.isSection("name") else {
      guard let name = section.read("name", format) else { return nil }
      self.init(fallback: name)
      return
    }
    let (english, korean) = section.section("name", hasVariables: false) { section in
      if section.keys.isEmpty {
        section.report(Diagnostic("has no language", hint: "write it like '{en: City hall}'"))
      }
      return (
        section.read(Language.english.rawValue, format),
        section.read(Language.korean.rawValue, format)
      )
    }
    guard let fallback = english ?? korean else { return nil }
    self.init(english: english, korean: korean, fallback: fallback)
  }
}
