import CommandLineSupport
import JuiceDomain
import KioskProtocol

/// A file to which a machine appends one line of JSON at the start and at the end of each pour.
struct PourLog {
  private let file: RecordFile<[UInt8]>

  init(path: String) throws(Failure) {
    file = RecordFile(path, upTo: 1 << 30, whenDamaged: "", encode: \.self, decode: \.self)
    try Failure.from { () throws(StateError) in try file.append([]) }
  }

  func recordStart(_ order: MachineOrder) throws(Failure) {
    try append(order, "begins", at: .now) { _ in }
  }

  func recordEnd(_ order: MachineOrder, _ status: MachineAnswer.Status) throws(Failure) {
    try append(order, "ends", at: .now) { json in
      json.member("status", status.name)
      if case .failed(let reason, let used, _) = status {
        json.member("reason", reason)
        if let used { json.member("used", used) }
      }
    }
  }

  private func append(
    _ order: MachineOrder, _ pour: String, at time: Timestamp, _ more: (inout JSONWriter) -> Void
  ) throws(Failure) {
    let line = JSONWriter.object { json in
      json.member("at", time.description)
      json.member("pour", pour)
      json.member("job", order.job)
      if let program = order.program { json.member("program", program.rawValue) }
      if let ticket = order.ticket { json.member("ticket", ticket) }
      if let juice = order.juice { json.member("juice", juice.text) }
      json.member("quantity", order.quantity)
      more(&json)
    }
    try Failure.from { () throws(StateError) in try file.append([line]) }
  }
}
