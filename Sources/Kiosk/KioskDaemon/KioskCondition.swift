package import KioskProtocol
package import Ledger
package import MessageBroker

/// How a kiosk is, for whoever looks after it and cannot ask.
package enum KioskCondition: Hashable, Sendable {
  case connecting
  /// The broker is away; the kiosk tries again by itself.
  case offline(BrokerError)
  /// The ledger takes nothing; the kiosk tries again by itself.
  case failing(LedgerError)
  case online(ServiceState)
  /// It takes its leave.
  case stopping
}
