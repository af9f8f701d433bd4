/// How a client connects, each time that it does.
package struct SessionOptions: Sendable {
  /// Names the session: a broker drops an older connection with the same id.
  package var clientID: String
  /// What to subscribe to after every connect.
  package var subscriptions: [TopicFilter]
  /// Of all of them. With QoS 0 a broker keeps nothing for the client (RabbitMQ: no queue of QoS 1), and
  /// what is on its way when a connection breaks is lost.
  package var subscriptionQoS = QoS.atLeastOnce
  /// Those of them that tell of each message whether it was published to be retained (MQTT 5, 3.8.3.1).
  /// Of the others news has no such flag, only what the broker had kept has.
  package var retainAsPublished: Set<TopicFilter> = []
  /// Published by the broker when the connection is lost without a farewell.
  package var will: Message?
  /// The broker probes a silent connection after this long; in seconds, 5 or more.
  package var keepAlive: UInt16
  /// Starts with a session that holds nothing from before.
  ///
  /// Said for the first connect. For a later one the rule of `sessionExpiry` decides.
  package var cleanStart: Bool
  /// How long a session outlives its connection; zero: not at all.
  ///
  /// The broker is told (MQTT 5), and the client keeps the rule too, on every protocol: it resumes
  /// no session after being away for longer, counted from the last packet that it received while it
  /// was online, and it reads nothing that has waited in its socket for longer (a process that was stopped and
  /// continued). It asks for a clean start instead, so that nothing late is delivered. A client that
  /// abandons what it receives is away, too, until it publishes or settles something.
  package var sessionExpiry: Duration
  /// For how long nobody had attended to the session when the client was started.
  package var absence: Duration
  /// How many QoS 1 deliveries may be on their way to the client unacknowledged; bounds a batch.
  package var receiveMaximum: UInt16
  /// What may come in with one message.
  package var limits: MessageLimits

  package init(
    clientID: String, subscriptions: [TopicFilter] = [], will: Message? = nil,
    keepAlive: UInt16 = 10, cleanStart: Bool = true, sessionExpiry: Duration = .zero,
    absence: Duration = .zero, receiveMaximum: UInt16 = 1024, limits: MessageLimits = .reports
  ) {
    self.clientID = clientID
    self.subscriptions = subscriptions
    self.will = will
    self.keepAlive = keepAlive
    self.cleanStart = cleanStart
    self.sessionExpiry = sessionExpiry
    self.absence = absence
    self.receiveMaximum = receiveMaximum
    self.limits = limits
  }
}
