import JuiceDomain
import KioskProtocol

extension Takings {
  /// Returns the amounts of all currencies.
  func text(_ language: Language) -> String {
    totals.map { $0.text(language) }.joined(separator: " + ")
  }
}
