import JuiceDomain
package import KioskMessages

// The troubles that were told, as JSON for the disk.
extension TroubleWatch {
  package func write(to json: inout JSONWriter) {
    json.member("told", told.sorted { $0.key < $1.key }) { json, told in
      let kind: String
      switch told.key {
      case .noBroker: kind = "no_broker"
      case .offline: kind = "offline"
      case .machine(_, let machine):
        kind = "machine"
        json.member("machine", machine.text)
      case .job(_, let job, let ticket):
        kind = "job"
        json.member("job", job)
        json.member("ticket", ticket)
      case .out(_, let fruit):
        kind = "out"
        json.member("fruit", fruit.text)
      }
      json.member("trouble", kind)
      if let kiosk = told.key.kiosk { json.member("kiosk", kiosk.text) }
      json.member("since", told.value.description)
    }
  }

  /// Reads what `write` has written, and leaves out troubles that cannot be read.
  package static func told(in json: JSON) -> [Trouble: Timestamp] {
    let told = (json.elements("told") ?? []).prefix(maximum).compactMap { entry in
      if let trouble = Trouble(entry), let since = entry.text("since").flatMap(Timestamp.init) {
        (trouble, since)
      } else {
        nil
      }
    }
    return Dictionary(told) { first, _ in first }
  }
}

extension Trouble {
  fileprivate init?(_ json: JSON) {
    let kiosk = json.text("kiosk").flatMap { KioskID($0) }
    switch (json.text("trouble"), kiosk) {
    case ("no_broker", _): self = .noBroker
    case ("offline", let kiosk?): self = .offline(kiosk)
    case ("machine", let kiosk?):
      guard let machine = json.text("machine").flatMap({ MachineID($0) }) else { return nil }
      self = .machine(kiosk, machine)
    case ("job", let kiosk?):
      guard let job = json.integer("job"), let ticket = json.integer("ticket") else { return nil }
      self = .job(kiosk, job, ticket: ticket)
    case ("out", let kiosk?):
      guard let fruit = json.text("fruit").flatMap({ Fruit.ID($0) }) else { return nil }
      self = .out(kiosk, fruit)
    default: return nil
    }
  }
}
