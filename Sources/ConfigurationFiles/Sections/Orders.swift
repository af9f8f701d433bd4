import KioskCore

extension KioskSettings.Orders {
  init(_ section: inout Section) {
    self.init()
    section.read("max_age_seconds", .seconds(1...86_400), into: &maximumAge)
    section.read("max_quantity", .integer(1...1_000), into: &maximumQuantity)
    section.read("debounce_milliseconds", .milliseconds(0...60_000), into: &debounce)
    section.read("max_per_second", .integer(0...100_000), into: &maximumPerSecond)
  }
}
