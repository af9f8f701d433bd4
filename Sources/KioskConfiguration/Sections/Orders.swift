extension KioskConfiguration {
  /// Which orders count.
  package struct Orders: Sendable, Equatable {
    /// An order that is older pours nothing.
    package var maxAge = Duration.seconds(30)
    /// Glasses in one order.
    package var maxQuantity = 10
    /// The same press of a panel again within this time counts as the same one; zero for never.
    package var debounce = Duration.zero
    /// Orders of one panel; `nil` for no limit.
    package var maxPerSecond: Int? = 50

    package init() {}
  }
}

extension KioskConfiguration.Orders {
  init(_ section: inout Section) {
    section.read("max_age_seconds", .seconds(1...86_400), into: &maxAge)
    section.read("max_quantity", .integer(1...1_000), into: &maxQuantity)
    section.read("debounce_milliseconds", .milliseconds(0...60_000), into: &debounce)
    section.read("max_per_second", .integer(0...100_000), into: &maxPerSecond)
    if maxPerSecond == 0 { maxPerSecond = nil }
  }
}
