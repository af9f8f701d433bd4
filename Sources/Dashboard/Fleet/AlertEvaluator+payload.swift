import JuiceDomain
package import KioskProtocol

// The alerts of which people were notified, as JSON for the disk.
extension AlertEvaluator {
  package func write(to json: inout JSONWriter) {
    json.member("notified", notified.sorted { $0.key < $1.key }) { json, notified in
      notified.key.write(to: &json)
      json.member("since", notified.value.description)
    }
  }

  /// Reads the alerts that `write(to:)` has written. Skips alerts that cannot be read.
  package static func notified(in json: JSON) -> [Alert: Timestamp] {
    let notified = (json.elements("notified") ?? []).prefix(maximum).compactMap { entry in
      if let alert = Alert(entry), let since = entry.text("since").flatMap(Timestamp.init) {
        (alert, since)
      } else {
        nil
      }
    }
    return Dictionary(notified) { first, _ in first }
  }
}

// A transition as JSON, for the disk.
extension AlertEvaluator.Transition {
  package func write(to json: inout JSONWriter) {
    alert.write(to: &json)
    json.member("resolved", isResolved)
    json.member("since", since.description)
  }

  package init?(_ json: JSON) {
    guard let alert = Alert(json), let since = json.text("since").flatMap(Timestamp.init) else {
      return nil
    }
    self.init(alert, isResolved: json["resolved"] == .bool(true), since: since)
  }
}

extension Alert {
  func write(to json: inout JSONWriter) {
    let kind: String
    switch self {
    case .noBroker: kind = "no_broker"
    case .offline: kind = "offline"
    case .noSales: kind = "no_sales"
    case .unsold: kind = "unsold"
    case .machine(_, let machine):
      kind = "machine"
      json.member("machine", machine.text)
    case .job(_, let job, let ticket):
      kind = "job"
      json.member("job", job)
      json.member("ticket", ticket)
    case .payment(_, let device):
      kind = "payment"
      json.member("device", device.text)
    case .charge(_, let charge, let ticket):
      kind = "charge"
      json.member("charge", charge)
      if let ticket { json.member("ticket", ticket) }
    case .difference(_, let device):
      kind = "difference"
      json.member("device", device.text)
    case .sensor(_, let sensor):
      kind = "sensor"
      json.member("sensor", sensor.text)
    case .expires(_, let fruit):
      kind = "expires"
      json.member("fruit", fruit.text)
    case .expired(_, let fruit):
      kind = "expired"
      json.member("fruit", fruit.text)
    case .out(_, let fruit):
      kind = "out"
      json.member("fruit", fruit.text)
    }
    json.member("alert", kind)
    if let kiosk { json.member("kiosk", kiosk.text) }
  }

  init?(_ json: JSON) {
    let kiosk = json.text("kiosk").flatMap { KioskID($0) }
    switch (json.text("alert"), kiosk) {
    case ("no_broker", _): self = .noBroker
    case ("offline", let kiosk?): self = .offline(kiosk)
    case ("no_sales", let kiosk?): self = .noSales(kiosk)
    case ("unsold", let kiosk?): self = .unsold(kiosk)
    case ("machine", let kiosk?):
      guard let machine = json.text("machine").flatMap({ MachineID($0) }) else { return nil }
      self = .machine(kiosk, machine)
    case ("job", let kiosk?):
      guard let job = json.integer("job"), let ticket = json.integer("ticket") else { return nil }
      self = .job(kiosk, job, ticket: ticket)
    case ("payment", let kiosk?), ("difference", let kiosk?):
      guard let device = json.text("device").flatMap({ PaymentDeviceID($0) }) else { return nil }
      self = json.text("alert") == "payment" ? .payment(kiosk, device) : .difference(kiosk, device)
    case ("charge", let kiosk?):
      guard let charge = json.chargeNumber("charge") else { return nil }
      self = .charge(kiosk, charge, ticket: json.integer("ticket"))
    case ("sensor", let kiosk?):
      guard let sensor = json.text("sensor").flatMap({ SensorID($0) }) else { return nil }
      self = .sensor(kiosk, sensor)
    case ("out", let kiosk?), ("expires", let kiosk?), ("expired", let kiosk?):
      guard let fruit = json.text("fruit").flatMap({ Fruit.ID($0) }) else { return nil }
      switch json.text("alert") {
      case "expires": self = .expires(kiosk, fruit)
      case "expired": self = .expired(kiosk, fruit)
      default: self = .out(kiosk, fruit)
      }
    default: return nil
    }
  }
}
