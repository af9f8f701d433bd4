/// The options of an MQTT session and of its connections.
package struct SessionOptions: Sendable {
  /// The client identifier, which names the session. The broker closes an older connection with the
  /// same identifier.
  package var clientID: String
  /// The filters to subscribe to after every connect.
  package var subscriptions: [TopicFilter]
  /// The filters that a session of an earlier process may still contain. A resumed session loses
  /// those that are not in `subscriptions`: a broker may send a message once for each filter that
  /// matches it (MQTT 5, 3.3.4).
  package var formerSubscriptions: Set<TopicFilter> = []
  /// The QoS of all subscriptions. With QoS 0 a broker stores no messages for the client (RabbitMQ:
  /// no queue of QoS 1), and messages in transit are lost with a connection.
  package var subscriptionQoS = QoS.atLeastOnce
  /// The subscriptions whose messages keep the RETAIN flag with which they were published (MQTT 5,
  /// 3.8.3.1). Messages of other subscriptions have the flag only if the broker had retained them
  /// before the subscription.
  package var retainAsPublished: Set<TopicFilter> = []
  /// The message that the broker publishes when the connection ends without a DISCONNECT.
  package var will: Message?
  /// The keep-alive interval in seconds, at least 5.
  package var keepAlive: UInt16
  /// Whether the client must begin with a session without earlier state. If not, and after that
  /// session has begun, `sessionExpiry` determines whether a connection resumes the session.
  package var cleanStart: Bool
  /// The time for which a session outlives its connection; zero ends it with the connection.
  ///
  /// The broker enforces this time (MQTT 5), and so does the client, on every protocol version,
  /// with a clean start that prevents late deliveries:
  ///
  /// - The client does not resume a session after a longer absence, counted from the last packet
  ///   received while online.
  /// - The client does not read data that has waited in its socket for longer, as after SIGSTOP and
  ///   SIGCONT.
  /// - A client that abandons its batches counts as absent until it publishes or acknowledges.
  package var sessionExpiry: Duration
  /// The time for which the client was absent before it was started.
  package var absence: Duration
  /// Maximum number of unacknowledged QoS 1 deliveries in transit to the client (MQTT 5); reading
  /// into a batch stops at this number of deliveries.
  package var receiveMaximum: UInt16
  /// Limits for the parts of a received message.
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
