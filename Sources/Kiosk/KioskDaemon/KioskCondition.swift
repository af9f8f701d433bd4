package import KioskProtocol
package import Ledger
package import MessageBroker

/// The condition of a kiosk, for its monitoring.
package enum KioskCondition: Hashable, Sendable {
  case connecting
  /// The kiosk has no connection to the broker, and reconnects by itself.
  case offline(BrokerError)
  /// The ledger cannot be used. The kiosk retries by itself.
  case failing(LedgerError)
  case online(ServiceState)
  /// The kiosk is shutting down.
  case stopping
}
