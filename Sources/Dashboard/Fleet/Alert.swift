package import JuiceDomain
package import KioskProtocol

/// A condition that operators are notified of when it begins and when it is resolved. The order is
/// that of a message, the most urgent first.
package enum Alert: Hashable, Comparable, Sendable {
  /// The dashboard has no connection to its broker, and therefore no current state of any kiosk.
  case noBroker
  case problem(Problem.Kind, at: KioskID)

  /// The kiosk that the alert is about, or `nil` for `noBroker`.
  package var kiosk: KioskID? {
    switch self {
    case .noBroker: nil
    case .problem(_, let kiosk): kiosk
    }
  }

  /// The problem, or `nil` for `noBroker`.
  package var problem: Problem.Kind? {
    switch self {
    case .noBroker: nil
    case .problem(let problem, _): problem
    }
  }
}

extension KioskState {
  /// Maximum number of alerts of a kiosk, so that one kiosk does not use up `AlertEvaluator.maximum`.
  private static let maximumAlerts = 100

  /// Returns the problems of which people are notified, the most severe first.
  func activeAlerts(at now: Timestamp) -> [(alert: Alert, problem: Problem)] {
    reports.problems(at: now).filter(\.isAlert).prefix(Self.maximumAlerts)
      .map { (.problem($0.kind, at: id), $0) }
  }

  /// Returns whether the problem may have ended if it does not exist.
  func isKnown(_ problem: Problem.Kind) -> Bool {
    switch problem {
    case .offline: reports.status != nil
    // A kiosk that is closed sells nothing anyway, and one that sells nothing does not sell some.
    case .noSales: isOnline && reports.service != .closed
    case .unsold: isOnline && reports.service != .closed && !reports.sellsNothing
    default: isOnline
    }
  }
}
