package import Foundation
package import JuiceDomain
import KioskProtocol
import YAMLConfiguration

extension KioskConfiguration {
  /// Which kiosk this is, and how it speaks to its customers.
  package struct Kiosk: Sendable, Equatable {
    package var id: KioskID = "k1"
    /// What people call it; `nil`: its id.
    package var name: LocalizedName?
    /// The place where it stands.
    package var place: String?
    /// One or several topic levels without wildcards.
    package var root = "kiosk"
    package var language = Language.english
    package var timeZone = TimeZone.gmt

    package init() {}

    /// Its name in its language, and its place; `nil` if it has neither.
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
  /// Reads `name`: one for all languages, or one for each.
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
