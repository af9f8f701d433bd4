package import JuiceDomain
import YAMLConfiguration

extension KioskConfiguration {
  /// Whether and how the kiosk shows itself in Home Assistant.
  package struct HomeAssistant: Sendable, Equatable {
    package var isEnabled = false
    /// What its discovery topics start with.
    package var prefix = "homeassistant"
    package var form = Form.components
    /// The account of Home Assistant at the broker, from which its commands come.
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
    // The kiosk listens to `<prefix>/status`, where Home Assistant says that it is online. Among its
    // own topics the kiosk would hear itself.
    let base = "\(kiosk.root)/\(kiosk.id)/"
    if "\(prefix)/".utf8.starts(with: base.utf8) {
      section.report(
        Diagnostic("is among the kiosk's own topics", hint: "leave it out, or write another"),
        at: "prefix")
    }
  }
}
