import JuiceDomain
import KioskDaemon
import KioskProtocol
import YAMLConfiguration

/// How far the forecasts were from the fruit that was used, as a table for each horizon.
struct BacktestView {
  private let menu: Menu
  private let language: Language
  private let backtest: Backtest

  init(_ configuration: KioskConfiguration, _ backtest: Backtest) {
    menu = configuration.menu
    language = configuration.kiosk.language
    self.backtest = backtest
  }

  var lines: [String] {
    let lines = [
      "Forecasts from \(backtest.from) to \(backtest.to), every six hours:",
      "what was used of each fruit, and how far from it they were, on average.",
    ]
    return backtest.horizons.reduce(lines) { $0 + [""] + table($1) }
  }

  private static let nameWidth = 24

  private func table(_ horizon: Backtest.Horizon) -> [String] {
    let title =
      horizon.hours == 24
      ? "a day" : horizon.hours < 24 ? "\(horizon.hours) hours" : "\(horizon.hours / 24) days"
    let fruits = menu.fruits.compactMap { fruit in
      horizon.fruits[fruit.id].map { row(fruit.name[language], $0) }
    }
    let heads = ["used", "forecast", "last week", "mean"].map(cell)
    return ["\("Within \(title)".padded(to: Self.nameWidth + 2))\(heads.joined())"] + fruits
      + [row("all", horizon.all)]
  }

  private func row(_ name: String, _ errors: Backtest.Errors) -> String {
    let numbers = [errors.used, errors.forecast, errors.lastWeek, errors.mean]
    return "  \(name.padded(to: Self.nameWidth))"
      + numbers.map { cell("\(($0 * 10).rounded() / 10)") }.joined()
  }

  private func cell(_ text: String) -> String { text.padded(to: 11, left: true) }
}

extension Backtest {
  var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("from", from.description)
      json.member("to", to.description)
      json.member("horizons", horizons) { json, horizon in
        json.member("hours", horizon.hours)
        json.member("forecasts", horizon.count)
        json.member("fruits") { json in
          for (fruit, errors) in horizon.fruits.sorted(by: { $0.key < $1.key }) {
            json.member(named: fruit.text) { json in
              json.member("used", errors.used)
              json.member("forecast", errors.forecast)
              json.member("last_week", errors.lastWeek)
              json.member("mean", errors.mean)
            }
          }
        }
      }
    }
  }
}
