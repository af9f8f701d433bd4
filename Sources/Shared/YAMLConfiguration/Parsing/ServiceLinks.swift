/// The environment variables that Kubernetes sets in each container for each service (field
/// `enableServiceLinks` of a pod). The variables of a service `kiosk` or `kiosk-…` start with
/// `KIOSK_`, like the variables that override keys.
package enum ServiceLinks {
  /// Returns the sorted names of these variables.
  package static func names(in environment: [String: String]) -> [String] {
    environment.filter { contains($0.key, $0.value) }.keys.sorted()
  }

  /// Returns whether Kubernetes has set a variable for a service. `KIOSK_BROKER_PORT` is also the
  /// variable of a key: its value is an address if Kubernetes has set it.
  static func contains(_ name: String, _ value: String) -> Bool {
    guard name.utf8.starts(with: "KIOSK_".utf8) else { return false }
    if name.hasSuffix("_PORT"), value.contains(/^(tcp|udp|sctp):\/\//) { return true }
    return name.contains(
      /_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/)
  }
}
