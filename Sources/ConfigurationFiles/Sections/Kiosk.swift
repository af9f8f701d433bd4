package import Foundation
package import JuiceDomain

extension KioskConfiguration {
  /// Which kiosk this is, and how it speaks to its customers.
  package struct Kiosk: Sendable, Equatable {
    package var id: KioskID = "k1"
    /// One or several topic levels without wildcards.
    package var root = "kiosk"
    package var language = Language.english
    package var timeZone = TimeZone.gmt

    package init() {}
  }
}

extension KioskConfiguration.Kiosk {
  init(_ section: inout Section) {
    section.read("id", .identifier(), into: &id)
    section.read("root", .topic, into: &root)
    section.read("language", .choice(), into: &language)
    section.read("time_zone", .timeZone, into: &timeZone)
  }
}
