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
    let change = stored.change
    let currency = menu.juices.lazy.compactMap(\.price?.currency).first
    for (juice, price) in change.prices.sorted(by: { $0.key < $1.key }) {
      if menu.juice(juice) == nil {
        unusedSettings.append(Rejection(.unknownJuice, "there is no \(juice) on the menu"))
      } else if let currency, price.currency != currency {
        unusedSettings.append(
          Rejection(.malformed, "the price of \(juice) is not in \(currency.code)"))
      }
    }
    let prices = change.prices.filter { currency == nil || $0.value.currency == currency }
    for juice in change.disabled.sorted() where menu.juice(juice) == nil {
      unusedSettings.append(Rejection(.unknownJuice, "there is no \(juice) on the menu"))
    }
    let juices = menu.juices.map { juice in
      var juice = juice
      juice.price = prices[juice.id] ?? juice.price
      return juice
    }
    do throws(MenuError) {
      let sold = juices.filter { !change.disabled.contains($0.id) }
      menu = try Menu(fruits: menu.fruits, juices: sold)
    } catch {
      unusedSettings.append(Rejection(.malformed, "a kiosk must sell at least one juice"))
      menu = (try? Menu(fruits: menu.fruits, juices: juices)) ?? menu
    }
    apply(change.capacities, change.lowMarks)
    hours = change.hours ?? hours
  }

  private mutating func apply(_ capacities: FruitAmounts, _ lowMarks: FruitAmounts) {
    for fruit in Set((Array(capacities) + Array(lowMarks)).map(\.fruit)).sorted() {
      guard let capacity = capacities[fruit] ?? stock.capacities[fruit],
        let low = lowMarks[fruit] ?? stock.lowMarks[fruit]
      else {
        unusedSettings.append(Rejection(.unknownFruit, "\(fruit) is not a fruit of this kiosk"))
        continue
      }
      guard low <= capacity else {
        unusedSettings.append(
          Rejection(
            .malformed, "\(fruit) would be low at \(low), above its capacity of \(capacity)"))
        continue
      }
      (stock.capacities[fruit], stock.lowMarks[fruit]) = (capacity, low)
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
    for juice in file.menu.juices {
      guard let now = menu.juice(juice.id) else {
        differences.append("\(juice.id) is not sold")
        continue
      }
      add("price of \(juice.id)", now.price?.description, juice.price?.description)
    }
    for fruit in file.menu.fruits.map(\.id) {
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
