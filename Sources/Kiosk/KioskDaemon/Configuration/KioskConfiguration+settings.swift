package import JuiceDomain
package import KioskCore
package import KioskProtocol
import YAMLConfiguration

// Applies the change that an operator has made, which replaces values of the file.
extension KioskConfiguration {
  /// The values of the file, or of the chain's menu, that a change can replace.
  package struct FileSettings: Sendable, Equatable {
    package var menu: Menu
    package var stock: KioskSettings.Stock
    package var hours: OpeningHours?

    package var report: MenuReport {
      MenuReport(menu: menu, capacities: stock.capacities, lowMarks: stock.lowMarks)
    }
  }

  /// Applies the stored change without the parts that do not fit the file or the chain's menu, and lists
  /// these parts in `unusedSettings`. The stored change still contains them: they apply again as soon as
  /// a later file or menu allows them.
  mutating func apply(_ stored: StoredSettings) {
    let file = FileSettings(menu: menu, stock: stock, hours: hours)
    (settings, fileSettings) = (stored, file)
    let (report, flaws) = stored.change.applied(to: file.report, isChain: desiredMenu != nil) {
      juice in
      machines.isEmpty || machines.contains { $0.makes(juice) }
    }
    unusedSettings = flaws.map(\.rejection)
    let added = report.menu.fruits.map(\.id).filter { !menu.contains($0) }
    menu = report.menu
    (stock.capacities, stock.lowMarks) = (report.capacities, report.lowMarks)
    hours = stored.change.hours ?? hours
    // A change does not contain the place of an added fruit.
    // guard: an added fruit is blocked by each sensor that blocks fruit
    for index in sensors.indices where !sensors[index].fruits.isEmpty {
      sensors[index].fruits += added
    }
  }

  /// The settings to publish, or `nil` if the kiosk has neither opening hours nor a stored change.
  package var settingsReport: SettingsReport? {
    guard settings != nil || hours != nil else { return nil }
    let file = fileSettings ?? FileSettings(menu: menu, stock: stock, hours: hours)
    return SettingsReport(
      stored: settings, file: file.report, fileHours: file.hours,
      unused: unusedSettings.map(\.detail))
  }

  /// One text for each value in force that differs from `fileSettings`, and for each unused part.
  package var settingsDifferences: [String] {
    guard let settings, let file = fileSettings else { return [] }
    let change = settings.change
    var differences: [String] = []
    func add(_ name: String, _ value: String?, _ old: String?) {
      if value != old {
        differences.append("\(name) \(value ?? "none") instead of \(old ?? "none")")
      }
    }
    for juice in file.menu.juices + settings.change.juices.filter({ file.menu.juice($0.id) == nil })
    {
      guard let now = menu.juice(juice.id) else {
        differences.append("\(juice.id) is not sold")
        continue
      }
      let old = file.menu.juice(juice.id)
      add("recipe of \(juice.id)", now.recipe.amounts.description, old?.recipe.amounts.description)
      add("price of \(juice.id)", now.price?.description, old?.price?.description)
      if let old, now.texts != old.texts { differences.append("texts of \(juice.id) are changed") }
    }
    for fruit in menu.fruits.map(\.id) {
      func compare(_ name: String, _ amounts: (KioskSettings.Stock) -> FruitAmounts) {
        let (now, old) = (amounts(stock)[fruit], amounts(file.stock)[fruit])
        add("\(name) of \(fruit)", now.map(String.init), old.map(String.init))
      }
      compare("capacity", \.capacities)
      compare("low mark", \.lowMarks)
    }
    if let hours = change.hours { add("hours", hours.text, file.hours?.text) }
    return differences + unusedSettings.map { "not used: \($0.detail)" }
  }
}

extension Juice {
  /// The texts and the picture for customers.
  fileprivate var texts: [String?] {
    Language.allCases.flatMap { [name[$0], allergens?[$0], note?[$0]] } + [picture?.description]
  }
}

extension OpeningHours {
  /// Reads the section `hours`: `{mon: "07:00-22:00"}`. Returns `nil` if no day has valid hours.
  init?(_ section: inout Section) {
    var intervals: [Day: Interval] = [:]
    for day in Day.allCases { section.read(day.rawValue, .openingHours, into: &intervals[day]) }
    if section.keys.isEmpty {
      section.report(Diagnostic("has no day", hint: "write it like '{mon: \"07:00-22:00\"}'"))
    }
    self.init(intervals)
  }
}

extension Format where Value == OpeningHours.Interval {
  fileprivate static let openingHours = Format { scalar throws(Diagnostic) in
    guard let interval = Value(scalar.text) else {
      throw Diagnostic(
        "\(scalar.text.quoted) is not a time span", hint: "write it like \"07:00-22:00\"")
    }
    return interval
  }
}
