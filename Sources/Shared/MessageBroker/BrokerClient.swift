/// One client's connection to an MQTT broker, with explicit acknowledgement: the PUBACKs of a batch
/// are sent only when the client calls `acknowledge()`.
///
/// ```swift
/// await broker.connect(SessionOptions(clientID: "juice-kiosk-k1", subscriptions: filters))
/// while let event = await broker.nextEvent(timeout: nil) {
///   if case .deliveries(let batch) = event {
///     let answers = try commit(batch)
///     try await broker.publish(answers)  // queued until the next line
///     await broker.acknowledge()  // sends the PUBACKs and the answers
///   }
/// }
/// ```
///
/// A client processes one batch at a time; messages that arrive meanwhile form the next batch. An
/// implementation connects, subscribes and reconnects by itself, as its `SessionOptions` specify.
/// It is an actor, so that a client actor that adopts its executor (`unownedExecutor`) calls it
/// without a thread switch.
package protocol BrokerClient: Actor {
  /// Starts to connect, and returns at once; an event reports the outcome. Call it only once.
  func connect(_ options: SessionOptions)

  /// Replaces the options without ending the session or the connection.
  ///
  /// The client subscribes to new filters and unsubscribes from removed ones. Unchanged
  /// subscriptions are not sent again, so the broker does not send their retained messages again.
  /// Messages of a removed filter that are already in transit may still arrive. `cleanStart` and
  /// `absence` keep the values given to `connect`. The client applies `receiveMaximum` and
  /// `sessionExpiry` immediately as well; other changes may take effect only from the next connect.
  ///
  /// The event `updated` reports the outcome; await this event before the next update. Call
  /// `connect` before the first one.
  func update(_ options: SessionOptions)

  /// Waits for the next event.
  ///
  /// - Parameter timeout: The maximum time to wait, or `nil` for no limit. An event that has
  ///   arrived by then is returned, also with a timeout of zero.
  /// - Returns: The event, or `nil` after the timeout, after `disconnect`, when `nextEvent` is
  ///   called again, or if the task was cancelled and no event has arrived.
  func nextEvent(timeout: Duration?) async -> BrokerEvent?

  /// Queues messages, in order, after those of earlier calls.
  ///
  /// Messages are written to the network at once, but not between a batch and its acknowledgement,
  /// or between `sessionBegan` and the next call of `nextEvent`. So a task that does not process
  /// the batches must only publish, and never acknowledge. Without a connection the client drops
  /// the messages: publish the current state again when the next connection is `online`.
  ///
  /// - Returns: The sequence number of the last QoS 1 message, published or dropped, counted from 1
  ///   over the lifetime of this object; compare it with `confirmed`.
  /// - Throws: `BrokerError.cannotPublish` if a message breaks a rule of the protocol or of the
  ///   broker (a wildcard in the topic, a packet that is too large). The other messages are
  ///   published.
  @discardableResult
  func publish(_ messages: [Message]) throws(BrokerError) -> UInt64

  /// The sequence number up to which the broker has acknowledged all QoS 1 messages of the current
  /// or the last connection.
  ///
  /// Messages lost with an earlier connection count as confirmed once a later message is confirmed,
  /// so record at `offline` which ones are unconfirmed.
  var confirmed: UInt64 { get }

  /// Sends the acknowledgements of the current batch and all queued messages, as far as the socket
  /// accepts them without blocking. Does nothing without a current batch.
  ///
  /// - Returns: Whether all of these were written. `false` also without a current batch, and if the
  ///   connection of the batch is lost.
  @discardableResult
  func acknowledge() -> Bool

  /// Drops the connection without acknowledging the current batch, as a crash would.
  ///
  /// The broker publishes the will, and redelivers the batch on the next connection, which is
  /// attempted after the usual delay.
  func abandon()

  /// Ends the connection: writes the published messages, awaits their confirmation and sends a
  /// DISCONNECT, so that the broker does not publish the will. If that takes longer than `grace`,
  /// the connection is dropped and the broker publishes the will.
  ///
  /// An unacknowledged batch stays unacknowledged, and messages published since its delivery are
  /// lost; if one of these has QoS 1, the connection is dropped at once.
  func disconnect(grace: Duration) async
}

/// An event that a `BrokerClient` reports.
package enum BrokerEvent: Sendable, Equatable {
  /// The broker has begun a new session: it will not redeliver messages of an earlier one.
  ///
  /// The client subscribes, and so receives deliveries, only after `nextEvent` is called again. If
  /// `abandon` is called before that, the event is reported again on the next connection.
  case sessionBegan
  /// The client is connected, and the broker has granted every subscription.
  case online
  /// Deliveries in order of arrival, to be acknowledged together; never empty.
  case deliveries([Delivery])
  /// `confirmed` has increased, and there is no other event.
  case confirmed
  /// An `update` has been applied; or the broker refused a subscription or ended the connection
  /// before granting it, and the previous options apply. Without a connection `refusal` is `nil`,
  /// and the next connect shows whether the broker grants the subscriptions.
  case updated(refusal: BrokerError?)
  /// The broker refused the messages published to these topics, and no subscriber receives them;
  /// they count as confirmed.
  ///
  /// Reasons by topic, `Session.maximumRefusals` at most. MQTT 3.1.1 cannot report a refusal.
  case refused([String: String])
  /// The connection is lost or could not be made; the client tries again by itself. Reported once
  /// for each outage and each new reason, not for each failed attempt.
  case offline(BrokerError)
}

/// A received message with its delivery metadata.
package struct Delivery: Sendable, Equatable {
  /// The part of a message that exceeded the client's `MessageLimits`.
  package enum Excess: String, Sendable, CaseIterable {
    case topic
    case payload
    case responseTopic = "response topic"
    case correlationData = "correlation data"
    case userProperties = "user properties"
  }

  /// The message. If there is an `excess`, it is truncated to the limits: topic and payload are cut
  /// off, so that they may look like another topic or another command; a response topic and
  /// correlation data that are too large are missing.
  package let message: Message
  /// The packet id, from 1, of a QoS 1 message; 0 for QoS 0.
  package let packetID: UInt16
  /// Whether the broker has set the DUP flag (it may have delivered the message before) and the
  /// session was resumed.
  package let isRedelivery: Bool
  /// The first part that was too large, or `nil`. A message with an excess must not be executed.
  package let excess: Excess?

  package init(
    message: Message, packetID: UInt16 = 0, isRedelivery: Bool = false, excess: Excess? = nil
  ) {
    self.message = message
    self.packetID = packetID
    self.isRedelivery = isRedelivery
    self.excess = excess
  }
}
