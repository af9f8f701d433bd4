/// One client's connection to an MQTT broker: a batch of deliveries comes in, answers go out, and
/// only an explicit settlement lets the acknowledgements of the batch go.
///
/// A client runs one loop: wait for the `nextEvent`, do what it asks, settle, wait again. One batch
/// is in hand at a time; what arrives meanwhile waits and makes the next batch.
///
/// An implementation connects, subscribes and reconnects by itself, following its
/// `SessionOptions`. It is an actor, so that a client actor which adopts its executor
/// (`unownedExecutor`) talks to it without a thread hop.
package protocol BrokerClient: Actor {
  /// Starts connecting and returns; what comes of it is an event. Called once.
  func connect(_ options: SessionOptions)

  /// Goes on with other options. The session stays, and so does the connection: what is new among the
  /// subscriptions is subscribed to, what has gone is dropped, and what stays is not touched, so that
  /// nothing retained comes again. What has gone may still bring what was on its way. `cleanStart`
  /// and `absence` stay as they were at `connect`. The rest holds from now on as far as this side
  /// decides it, and at the broker from the next connect.
  ///
  /// What comes of it is the event `updated`; wait for it before the next call. Called after
  /// `connect`.
  func update(_ options: SessionOptions)

  /// Waits for the next event.
  ///
  /// - Parameter timeout: how long to wait at most; `nil` waits forever. What has arrived by then is
  ///   returned, also by a timeout of zero.
  /// - Returns: `nil` after the timeout, or when the task has been cancelled and nothing has arrived; and
  ///   when the connection was ended by `disconnect()`.
  func nextEvent(timeout: Duration?) async -> BrokerEvent?

  /// Puts messages on their way, in order, behind those of earlier calls.
  ///
  /// Nothing is written to the network before the batch in hand is settled. Without a connection
  /// the messages are dropped: publish again what matters when the next connection is `online`.
  ///
  /// - Returns: the running number, from 1 over the whole life of this object, of the last
  ///   message so far that was published with QoS 1; to be compared with `confirmed`.
  /// - Throws: `BrokerError.cannotPublish` if a message breaks the protocol's rules (a wildcard in
  ///   a topic, more than the broker takes); the others of the call are published all the same.
  @discardableResult
  func publish(_ messages: [Message]) throws(BrokerError) -> UInt64

  /// The running number up to which the broker has acknowledged each QoS 1 message published on
  /// this connection. Messages lost with an earlier connection count as passed over once a later
  /// number is confirmed, so note what is unconfirmed at `offline`.
  var confirmed: UInt64 { get }

  /// Lets the acknowledgements of the batch in hand go, together with everything published so far.
  /// They have been handed to the network when it returns, as far as that takes them at once.
  /// Without a batch in hand it only flushes what was published.
  ///
  /// - Returns: whether the network has all acknowledgements of the batch. It has none of a batch
  ///   whose connection is gone.
  @discardableResult
  func acknowledge() -> Bool

  /// Forgets the batch in hand, unacknowledged, and drops the connection as a crash would: the will
  /// is published, and the broker delivers the batch again on the next connection, which is
  /// attempted after the usual delay.
  func abandon()

  /// Ends the session in good order: what was published is written out and confirmed, then the client
  /// takes its leave, and the will is not published. Where that does not work within `grace`, the
  /// connection is dropped and the will speaks.
  ///
  /// A batch in hand that is not settled stays unacknowledged, and what was published since is lost.
  func disconnect(grace: Duration) async
}

/// What a client learns from its broker.
package enum BrokerEvent: Sendable, Equatable {
  /// The broker has begun a new session: nothing that was delivered before will come again. Nothing is
  /// subscribed to in it, and so nothing delivered, before the client asks for the next event. Where that is
  /// given up with `abandon`, it is told again on the next connection.
  case sessionBegan
  /// Connected, and every subscription granted.
  case online
  /// Deliveries in the order of their arrival, to be settled together. Never empty.
  case deliveries([Delivery])
  /// `confirmed` has grown, and nothing else has happened.
  case confirmed
  /// What `update` was asked for holds; or the broker refused a subscription, and all is as before.
  /// Without a connection nobody is asked, and the next connect shows.
  case updated(refusal: BrokerError?)
  /// The broker did not take what was published to these topics, and nobody will hear it; it counts as
  /// confirmed. By topic, with the reason; `Session.maximumRefusals` at most. MQTT 3.1.1 has no word for it.
  case refused([String: String])
  /// There is no connection; the next attempt follows by itself. Sent once for each outage and each
  /// new reason, not for each failed attempt.
  case offline(BrokerError)
}

/// A message as it arrived, with what its protocol tells about the delivery.
package struct Delivery: Sendable, Equatable {
  /// What was too large for the client's `MessageLimits`.
  package enum Excess: String, Sendable, CaseIterable {
    case topic
    case payload
    case responseTopic = "response topic"
    case correlationData = "correlation data"
    case userProperties = "user properties"
  }

  /// If there is an `excess`, only as much of it as its limits allow: topic and payload are cut off,
  /// so that the one may look like another topic and the other like another command. A response
  /// topic and correlation data that are too large are missing.
  package let message: Message
  /// From 1 for QoS 1; 0 for QoS 0, which has none.
  package let packetID: UInt16
  /// The broker has marked it as one that it may have delivered before (DUP), and it arrived in a
  /// session that was resumed.
  package let isRedelivery: Bool
  /// The first thing that was too large. Such a message is not to be carried out.
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
