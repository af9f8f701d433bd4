/// Whether a kiosk is connected.
package enum KioskStatus: String, Hashable, Sendable {
  case online, offline
}
