package import JuiceDomain
import YAMLConfiguration

extension KioskConfiguration {
  /// The integration with Home Assistant.
  package struct HomeAssistant: Sendable, Equatable {
    package var isEnabled = false
    /// The first levels of the discovery topics of Home Assistant.
    package var prefix = "homeassistant"
    package var form = Form.components
    /// The account at the broker with which Home Assistant publishes commands.
    package var account: Account = "homeassistant"

    package init() {}

    package typealias Account = Identifier<HomeAssistant>

    package enum Form: String, CaseIterable, Sendable {
      /// One discovery message for each entity.
      case components
      /// One discovery message for all entities.
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
    // The kiosk subscribes to `<prefix>/status`, where Home Assistant publishes its status. With a
    // prefix below the kiosk's own topics, the kiosk would receive its own messages.
    let base = "\(kiosk.root)/\(kiosk.id)/"
    if "\(prefix)/".utf8.starts(with: base.utf8) {
      section.report(
        Diagnostic("is among the kiosk's own topics", hint: "leave it out, or write another"),
        at: "prefix")
    }
  }
}
