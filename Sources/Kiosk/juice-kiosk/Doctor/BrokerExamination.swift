import CommandLineSupport
import Foundation
import KioskCore
import KioskDaemon
import KioskProtocol
import MessageBroker
import YAMLConfiguration

/// Examines the broker for the doctor: logs in with the kiosk's account, and returns one `Finding`
/// for each result.
///
/// ```swift
/// let examination = BrokerExamination(
///   configuration, ledger: ledger, now: .now, timeout: .seconds(10), logsInAnyway: false)
/// for finding in try await examination.findings() { print(finding.text) }
/// ```
///
/// | check | question |
/// |---|---|
/// | `broker` | Is the address reachable, and does the broker accept the login? |
/// | `rights` | Does the broker refuse subscriptions, or messages of the running kiosk? |
/// | `session` | Do the broker's limits suffice, and is the client identifier unique? |
/// | `retained` | Does the broker retain messages that it should not? |
/// | `machines` | Are the configured machines online, and must a person decide? |
/// | `sensors` | Do the configured sensors send readings, and block nothing? |
/// | `payment` | Are the configured payment devices online, and must a person decide? |
///
/// While a kiosk runs, no check uses the kiosk's client identifier, because a second connection
/// with the same identifier takes over the session. The doctor publishes nothing.
struct BrokerExamination {
  let configuration: KioskConfiguration
  let settings: KioskSettings
  let ledger: LedgerView
  let now: Timestamp
  let timeout: Duration
  /// Whether to log in even if the broker may use the account as the client identifier (`--login`).
  let logsInAnyway: Bool

  let number = UInt32.random(in: 0 ... .max)

  init(
    _ configuration: KioskConfiguration, ledger: LedgerView, now: Timestamp, timeout: Duration,
    logsInAnyway: Bool
  ) {
    self.configuration = configuration
    let state = ledger.state
    settings = KioskSettings(configuration, retainedTopics: state.topics)
      .keepingMachines(of: state.jobs, state.makers)
      .keepingPayment(of: state.charges)
    self.ledger = ledger
    self.now = now
    self.timeout = timeout
    self.logsInAnyway = logsInAnyway
  }

  private var broker: BrokerConfiguration { configuration.broker }
  private var address: String { "\(broker.host):\(broker.port)" }

  func findings() async throws(Failure) -> [Finding] {
    switch Reachability.of(host: broker.host, port: broker.port, timeout: timeout) {
    case .unknownName(let reason):
      return [
        .error(
          .broker, broker.host, "the name cannot be resolved: \(reason)",
          fix: "correct broker.host, or the computer's name resolution (/etc/resolv.conf, "
            + "/etc/hosts)")
      ]
    case .silent(let reason):
      return [
        .error(
          .broker, address, "nothing answers there: \(reason)",
          fix: "start the broker (systemctl start mosquitto; if its log ends with 'Couldn't open "
            + "database', move /var/lib/mosquitto/mosquitto.db aside first), open the firewall, or "
            + "correct broker.host and broker.port")
      ]
    case .answers(let isLocal):
      if let finding = reasonNotToLogIn(isLocal: isLocal) { return [finding] }
      return try await login()
    }
  }

  /// Returns a finding if a login might disconnect the running kiosk; otherwise, or with `--login`,
  /// `nil`. A login disconnects the kiosk if the broker uses the account as the client identifier.
  private func reasonNotToLogIn(isLocal: Bool) -> Finding? {
    guard ledger.isRunning, broker.username != nil, !logsInAnyway, !isLocal || broker.port == 8883
    else { return nil }
    return .note(
      .broker, address,
      "answers; a login was not tried while the kiosk runs: if the broker uses the account as the "
        + "client id, as port 8883 of deploy/mosquitto/kiosk.conf does, it disconnects the kiosk",
      fix: "stop the kiosk and run the doctor again; or, if your broker does not do this: "
        + "juice-kiosk doctor --login")
  }

  // MARK: Login

  private func login() async throws(Failure) -> [Finding] {
    var limits: BrokerLimits?
    var findings: [Finding] = []
    switch try await run(BrokerProbe(clientID: clientID, resuming: settings.orders.maximumAge)) {
    case .success(let report) where report.hasResumed:
      return [
        .warning(
          .session, address,
          "the broker uses the account as the client id: this login has disconnected the kiosk, "
            + "which reconnects by itself",
          fix:
            "use a listener that does not (in deploy/mosquitto/kiosk.conf, port 8884), or run the "
            + "doctor \(settings.orders.maximumAge.components.seconds) seconds after a stop of the "
            + "kiosk")
      ]
    case .success(let report): limits = report.limits
    // The probe uses MQTT 5, which a broker for MQTT 3.1.1 need not support.
    case .failure(let error) where broker.protocol == .v311 && error.mayBeProtocol: break
    case .failure(let error): return [finding(error)]
    }
    let retained: RetainedMessages
    do throws(Failure) { retained = try await readRetained() } catch {
      findings.append(
        .error(.broker, address, error.message, fix: "see the broker's log", status: error.status))
      return findings
    }
    findings.append(
      .ok(
        .broker, address,
        "answers\(broker.tls == nil ? "" : ", with TLS")\(broker.username.map { ", accepts the login of \($0)" } ?? "")"
          + ", over MQTT \(broker.protocol.rawValue)"))
    return findings + (try await examine(retained, limits))
  }

  /// Reads the retained messages on the kiosk's subscriptions and, if the broker allows it, on all
  /// topics of the kiosk and those of `BrokerStatistics`.
  private func readRetained() async throws(Failure) -> RetainedMessages {
    let more = [
      "\(settings.topics.base)/#", BrokerStatistics.dropped, BrokerStatistics.version,
    ].map(TopicFilter.init(unchecked:))
    do throws(Failure) { return try await readRetained(of: settings.subscriptions + more) } catch {
      // Some brokers end the connection instead of refusing a subscription.
      return try await readRetained(of: settings.subscriptions)
    }
  }

  private func readRetained(of filters: [TopicFilter]) async throws(Failure) -> RetainedMessages {
    try await RetainedMessages(of: filters, timeout: timeout) { () throws(Failure) in
      try configuration.makeBroker()
    }
  }

  private func finding(_ error: BrokerError) -> Finding {
    let fix =
      switch error {
      case .tls:
        "set broker.tls.ca_file to the certificate of the authority that has signed the broker's, set "
          + "broker.host to the name in the broker's certificate, and check that this port uses TLS"
      case .loginRefused where broker.username != nil && broker.passwordFile == nil:
        "set broker.password_file; if systemd provides the password: "
          + "KIOSK_BROKER_PASSWORD_FILE=/etc/juice-kiosk/password juice-kiosk doctor"
      case .loginRefused:
        "set broker.username and broker.password_file to an account of the broker (with "
          + "deploy/mosquitto/kiosk.conf: run make-accounts, then reload the broker)"
      case .protocolRefused:
        "set broker.protocol to \(broker.protocol == .v5 ? "3.1.1" : "5")"
      case .connectionLost where broker.tls == nil:
        "see the broker's log; if this port uses TLS, add broker.tls"
      default: "see the broker's log"
      }
    return .error(.broker, address, "\(error)", fix: fix)
  }

  // MARK: Rights

  private func examine(
    _ retained: RetainedMessages, _ limits: BrokerLimits?
  ) async throws(Failure) -> [Finding] {
    // The broker retains the status of each kiosk that has run here.
    let isComplete = retained.payloads[settings.topics.status] != nil
    var findings = AccessCheck(
      settings: settings, account: broker.username, isVersion5: broker.protocol == .v5,
      isRunning: ledger.isRunning, retained: retained
    ).findings()
    findings += SessionCheck(
      settings: settings, broker: broker, ledger: ledger, now: now, limits: limits,
      retained: retained
    ).findings()
    if isComplete, isAway(retained) { findings += try await duplicateClientIDs() }
    findings += UnexpectedRetained(settings: settings, ledger: ledger).findings(
      retained.payloads, at: now, isComplete: isComplete)
    return findings
      + DevicesCheck(settings: settings, retained: retained, now: now).findings()
  }

  /// Returns whether no kiosk runs, the status is not `online`, and the last heartbeat is missing
  /// or older than twice the lifetime of the session.
  private func isAway(_ retained: RetainedMessages) -> Bool {
    guard !ledger.isRunning,
      retained.payloads[settings.topics.status] != Array(KioskStatus.online.rawValue.utf8)
    else { return false }
    return ledger.absence(at: now).map { $0 > settings.orders.maximumAge * 2 } ?? true
  }

  /// Connects with the kiosk's own client identifier while no kiosk runs. If the broker has a
  /// session of this identifier, the session belongs to another client.
  private func duplicateClientIDs() async throws(Failure) -> [Finding] {
    guard broker.protocol == .v5,
      case .success(let report) = try await run(
        BrokerProbe(clientID: broker.clientID, resuming: settings.orders.maximumAge)),
      report.hasResumed
    else { return [] }
    return [
      .warning(
        .session, broker.clientID,
        "the broker has a session of this client id, although the kiosk has been offline for longer "
          + "than a session lasts: another client uses the same id, or did until recently; this check "
          + "has disconnected it once",
        fix: "give each its own broker.client_id; after a move, run the kiosk on one computer only")
    ]
  }

  /// The client identifier of the login, which differs from the kiosk's.
  var clientID: String { "juice-kiosk-doctor-probe-\(number)" }

  private func run(
    _ probe: BrokerProbe
  ) async throws(Failure) -> Result<BrokerProbe.Report, BrokerError> {
    try await broker.run(probe, timeout: timeout)
  }
}

extension BrokerError {
  /// Whether the cause may be that the broker does not support the MQTT version.
  fileprivate var mayBeProtocol: Bool {
    switch self {
    case .protocolRefused, .unreachable, .connectionLost, .malformedPacket: true
    default: false
    }
  }
}
