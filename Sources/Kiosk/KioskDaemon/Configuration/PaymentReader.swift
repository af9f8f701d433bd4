import JuiceDomain
import KioskCore
import KioskProtocol
import YAMLConfiguration

/// Reads `payment`: the devices at which customers pay.
///
/// ```yaml
/// payment:
///   pay_seconds: 45             # time to present a card
///   free_panels: [staff]        # their orders cost nothing
///   devices:
///     - name: terminal          # topics charge/terminal, paid/terminal, payment/terminal
///       enabled: true           # false: the device gets no charges
///       panels: [panel1]        # panels whose customers pay here; default: all
/// ```
///
/// A panel with `pays: false` is free as well, and so is a juice without a price above zero. The
/// kiosk rejects any other order if no payment device of its panel is available.
struct PaymentReader {
  private(set) var payment: KioskSettings.Payment?

  /// Reads the section `payment` of a configuration.
  ///
  /// - Parameter free: The panels with `pays: false`.
  init(_ root: inout Section, free: Set<String>) {
    let isWanted = root.has("payment")
    var read = root.section("payment") { Self.read(&$0, isWanted: isWanted) }
    read.freePanels.formUnion(free)
    if isWanted { payment = read }
  }

  private static func read(_ section: inout Section, isWanted: Bool) -> KioskSettings.Payment {
    var payment = KioskSettings.Payment(devices: [])
    section.read("pay_seconds", .seconds(5...300), into: &payment.payLimit)
    payment.freePanels = Set(section.list("free_panels", of: .panelName) ?? [])
    section.list("devices") { section in
      let errorsBefore = section.collector.errors.count
      let name: PaymentDeviceID? = section.require("name", .identifier())
      var device = KioskSettings.Payment.Device(name: name ?? "device")
      section.read("enabled", .boolean, into: &device.isEnabled)
      device.panels = section.list("panels", of: .panelName).map { Set($0) }
      if payment.devices.contains(where: { $0.name == name }) {
        section.report(Diagnostic("there is a payment device of this name already"), at: "name")
      }
      guard section.collector.errors.count == errorsBefore else { return }
      payment.devices.append(device)
    }
    if isWanted, payment.devices.isEmpty, section.collector.errors.isEmpty {
      section.report(
        Diagnostic(
          "a payment needs devices", hint: "write them like 'devices: [{name: terminal}]'"))
    }
    return payment
  }
}
