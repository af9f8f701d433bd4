import JuiceDomain
import KioskCore
import KioskProtocol

/// Checks whether the menu has prices, whether the enabled payment devices are online, whether a person
/// must decide about a charge, and whether the totals of a device differ from the ledger.
struct PaymentCheck {
  let settings: KioskSettings
  let retained: RetainedMessages

  func findings() -> [Finding] {
    guard let payment = settings.payment else { return [] }
    let prices: [Finding] =
      settings.menu.hasPrices || !payment.isEnabled
      ? []
      : [
        .warning(
          .payment, "menu", "no juice has a price: nothing is paid",
          fix: "write menu.currency, and the price of each juice")
      ]
    return prices + payment.devices.flatMap { findings(of: $0) }
  }

  private func findings(of device: KioskSettings.Payment.Device) -> [Finding] {
    let reportTopic = settings.topics.payment(at: device.name)
    // A report that cannot be read counts as no report.
    let report = retained.payloads[reportTopic].flatMap { try? PaymentReport(payload: $0) }
    // A device that is disabled or removed gets no charges.
    var findings = device.isEnabled ? [status(of: device.name, report)] : []
    findings += (report?.charges ?? []).map { charge in
      .warning(
        .payment, reportTopic,
        "charge \(charge.charge) of \(charge.amount) waits for a person: \(charge.reason)",
        fix: "look for it in the journal of the terminal, and decide with juice-kiosk charge "
          + "\(charge.charge): captured, released, refund")
    }
    if let difference = report?.difference, difference != 0 {
      findings.append(
        .warning(
          .payment, reportTopic,
          "its totals differ from the ledger by \(difference) of the smallest unit",
          fix: "compare juice-kiosk report --charges with the journal of the terminal"))
    }
    return findings
  }

  private func status(of device: PaymentDeviceID, _ report: PaymentReport?) -> Finding {
    let topic = settings.topics.paymentStatus(of: device)
    let text = retained.payloads[topic].map { String(decoding: $0.prefix(64), as: UTF8.self) }
    switch text.map({ MachineStatus($0) }) {
    case nil:
      return .warning(
        .payment, topic, "it has never published its status: no order is taken there",
        fix: "it must publish 'online' there, retained; its account needs the role payment")
    case .online where report?.state == .off:
      return .warning(
        .payment, topic, "is online, but has not answered: no order is taken there",
        fix: "check that its account may receive its charges (topic read "
          + "\(settings.topics.charge(by: device))/#) and answer (topic write "
          + "\(settings.topics.paid(by: device))); then restart it")
    case .online where report?.needsInventory == true:
      return .warning(
        .payment, topic,
        "has not said what it holds: the ledger is new or restored, and may lack charges of it",
        fix: "restart the device; a device of your own must answer "
          + "\(settings.topics.charge(.open, by: device))")
    case .online: return .ok(.payment, topic, "is online")
    default:
      return .warning(
        .payment, topic, "is \(text ?? ""): no order is taken there",
        fix: "check that the terminal and the computer it is connected to have power and network")
    }
  }
}
