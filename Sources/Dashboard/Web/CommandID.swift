import JuiceDomain
import KioskMessages

/// The id of a command to a kiosk. (Hummingbird calls something else a request.)
typealias CommandID = Request.ID

extension CommandID {
  /// One that nobody else has.
  static var random: Self {
    let number = UInt128.random(in: 0 ... .max)
    guard let id = Self("dashboard-\(String(number, radix: 36))") else {
      preconditionFailure("digits and letters make an id")
    }
    return id
  }
}
