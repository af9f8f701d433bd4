import JuiceDomain
import KioskProtocol
import Testing

@Suite struct StockAlertTests {
  @Test(
    arguments: [
      // Falling stock: low at and below the threshold.
      (7, 5, .ok, .ok), (6, 5, .ok, .ok), (5, 5, .ok, .low), (1, 5, .ok, .low), (0, 5, .ok, .out),
      // Rising stock: ok only above the threshold by a quarter, at least by 1.
      (5, 5, .low, .low), (6, 5, .low, .low), (7, 5, .low, .ok), (6, 5, .out, .low),
      (7, 5, .out, .ok), (0, 5, .low, .out), (1, 5, .out, .low),
      (25, 20, .low, .low), (26, 20, .low, .ok), (21, 20, .ok, .ok),
      // Without a threshold a fruit is never low.
      (1, 0, .ok, .ok), (1, 0, .out, .ok), (0, 0, .ok, .out), (0, 0, .low, .out),
    ] as [(Int, Int, StockAlert, StockAlert)])
  func anAlertDoesNotFlicker(quantity: Int, low: Int, previous: StockAlert, alert: StockAlert) {
    #expect(StockAlert(quantity: quantity, low: low, previous: previous) == alert)
  }

  /// Ten strawberries are the least of a recipe: with nine, no juice needs them in vain.
  @Test(
    arguments: [
      (10, 5, .out, .ok), (10, 15, .ok, .low), (9, 5, .ok, .out), (9, 15, .low, .out),
      (1, 0, .ok, .out),
    ] as [(Int, Int, StockAlert, StockAlert)])
  func aFruitIsOutIfNoJuiceCanBeMadeOfIt(
    quantity: Int, low: Int, previous: StockAlert, alert: StockAlert
  ) {
    #expect(StockAlert(quantity: quantity, least: 10, low: low, previous: previous) == alert)
  }
}
