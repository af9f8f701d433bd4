package import JuiceDomain

extension KioskConfiguration {
  /// Whether and how the kiosk shows itself in Home Assistant.
  package struct HomeAssistant: Sendable, Equatable {
    package var isEnabled = false
    /// What its discovery topics start with.
    package var prefix = "homeassistant"
    package var form = Form.components
    /// With which it logs in to the broker, and commands come from it.
    package var account: Account = "homeassistant"

    package init() {}

    package typealias Account = Identifier<HomeAssistant>

    package enum Form: String, CaseIterable, Sendable {
      /// A message for each entity.
      case components
      /// One message for all.
      case device
    }
  }
}

extension KioskConfiguration.HomeAssistant {
  init(_ section: inout Section, kiosk: KioskConfiguration.Kiosk) {
    section.read("enabled", .boolean, into: &isEnabled)
    section.read("prefix", .topic, into: &prefix)
    section.read("form", .choice(), into: &form)
    section.read("account", .identifier(), into: &account)
    // There the kiosk would hear itself: `<prefix>/status` is where Home Assistant says it is online.
    let base = "\(kiosk.root)/\(kiosk.id)/"
    if "\(prefix)/".utf8.starts(with: base.utf8) {
      section.report(
        Complaint("is among the kiosk's own topics", hint: "leave it out, or write another"),
        at: "prefix")
    }
  }
}
