import YAMLConfiguration

extension KioskConfiguration {
  /// Returns the changed keys that require a restart: those of the kiosk's identity, its time zone,
  /// its connections and the path of its ledger.
  ///
  /// - Parameter running: The configuration of the running kiosk.
  package func changesForRestart(from running: Self) -> [String] {
    let fixed: [(key: String, hasChanged: Bool)] = [
      ("kiosk.id", kiosk.id != running.kiosk.id),
      ("kiosk.root", kiosk.root != running.kiosk.root),
      ("kiosk.time_zone", kiosk.timeZone != running.kiosk.timeZone),
      ("broker.host", broker.host != running.broker.host),
      ("broker.port", broker.port != running.broker.port),
      ("broker.protocol", broker.protocol != running.broker.protocol),
      ("broker.client_id", broker.clientID != running.broker.clientID),
      ("broker.username", broker.username != running.broker.username),
      ("broker.password_file", broker.passwordFile != running.broker.passwordFile),
      ("broker.tls", broker.tls != running.broker.tls),
      ("uplink", uplink != running.uplink),
      ("ledger.path", ledgerPath != running.ledgerPath),
    ]
    return fixed.filter(\.hasChanged).map(\.key)
  }
}
