import Fleet
import JuiceDomain
import KioskProtocol

extension Operation {
  /// Plans a route of `count` kiosks with five fruits each.
  static func plan(of count: Int) throws -> Operation {
    let now = Timestamp(milliseconds: 1_795_251_600_000)
    let fruits = Menu.standard.fruits.map(\.id)
    func each(_ amount: Int) -> FruitAmounts {
      FruitAmounts(fruits.map { (fruit: $0, amount: amount) })
    }
    var fleet = KioskFleet(root: "kiosk")
    for number in 1...count {
      let outlook = ForecastReport.Outlook(
        stock: number, perHour: 0.5, use: Array(repeating: 3, count: 28))
      let reports = [
        "status": Array("online".utf8),
        "menu": MenuReport(menu: .standard, capacities: each(100), lowMarks: each(5)).payload,
        "stock": StockReport(seq: 1, at: now, fruits: each(number)).payload,
        "forecast": ForecastReport(
          at: now, fruits: Dictionary(uniqueKeysWithValues: fruits.map { ($0, outlook) })
        ).payload,
      ]
      for (topic, payload) in reports {
        fleet.receive(
          topic: "kiosk/k\(number)/\(topic)", payload: payload, isRetained: true, at: now)
      }
    }
    let day = Int64(86_400_000)
    let plan = RoutePlan(
      arrival: Timestamp(milliseconds: now.milliseconds + day),
      end: Timestamp(milliseconds: now.milliseconds + 4 * day), margin: 20, fill: .need)
    let kiosks = Array(fleet.kiosks)
    return Operation(name: "plan-\(count)", units: count) {
      for kiosk in kiosks {
        _ = plan?.shortFruits(of: kiosk, at: now)
        _ = plan?.lines(for: kiosk, at: now)
      }
    }
  }
}
