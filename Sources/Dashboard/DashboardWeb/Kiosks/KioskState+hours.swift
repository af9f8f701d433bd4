import Fleet
import JuiceDomain
import KioskProtocol
import TimeZones

extension KioskState {
  /// Whether a person has closed the kiosk, as far as the latest entries show.
  var isClosedByPerson: Bool {
    let latest = services.first { [.open, .closed].contains($0.status) }
    return service == .closed && latest?.status == .closed
  }

  /// Returns the time at which the opening hours open the kiosk again, such as `Mon 08:00`, or `nil` if
  /// it is open, or closed within its hours.
  func nextOpening(at now: Timestamp, _ language: Language) -> String? {
    guard service == .closed, let hours = settings?.hours else { return nil }
    let time = clock(at: now)
    let (day, minute) = LocalTime(timeZone, now: time, language).clock.minute(at: time)
    guard !hours.isOpen(day: day, minute: minute),
      let opening = hours.opening(after: day, minute: minute)
    else { return nil }
    return "\(language.name(of: opening.day)) \(opening.time)"
  }
}
