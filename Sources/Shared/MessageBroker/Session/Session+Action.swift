extension Session {
  /// An action that the transport executes.
  package enum Action: Sendable, Equatable {
    /// Connects, replacing the current connection or attempt.
    case connect(Start)
    /// Queues a SUBSCRIBE, and passes its SUBACK to `granted` with this number. On MQTT 5,
    /// `retainAsPublished` sets the option of that name (3.8.3.1).
    case subscribe(Int, [TopicFilter], retainAsPublished: Bool)
    /// Queues an UNSUBSCRIBE.
    case unsubscribe([TopicFilter])
    /// Sends a DISCONNECT, after the queued packets (`acknowledging`) or before them. Calls `closed`
    /// when the broker has closed the connection, or immediately if that cannot be detected.
    case disconnect(acknowledging: Bool)
    /// Closes the connection or abandons the attempt, without a DISCONNECT.
    case drop
    /// Resumes the callers of `disconnect`.
    case end
  }

  /// The kind of session with which a connection begins.
  package enum Start: Sendable {
    /// Resumes the session, or begins one that outlives the connection.
    case resume
    /// Begins a session without earlier state, which ends with the connection.
    case clean
    /// Only ends the session stored by the broker, so that the next connection begins a persistent
    /// one.
    ///
    /// MQTT 3.1.1 has one flag for a clean start and for a session that ends with its connection
    /// (3.1.2.4); and mosquitto 2.0.11 does not persist an MQTT 5 session that started clean.
    case wipe
  }
}
