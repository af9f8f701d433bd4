extension Session {
  /// What the hands are to do.
  package enum Action: Sendable, Equatable {
    /// Try to connect, in place of the connection or the attempt that there is.
    case connect(Start)
    /// Queue a SUBSCRIBE, whose answer is told to `granted` with this number. On MQTT 5 with the option
    /// that is named (3.8.3.1).
    case subscribe(Int, [TopicFilter], retainAsPublished: Bool)
    /// Queue an UNSUBSCRIBE.
    case unsubscribe([TopicFilter])
    /// Send a DISCONNECT, behind what is queued or ahead of it; tell `closed` when the broker has closed
    /// the connection, or at once if that cannot be seen.
    case disconnect(acknowledging: Bool)
    /// Close the connection or give up the attempt, without a word.
    case drop
    /// Let the callers of `disconnect` return.
    case end
  }

  /// How a connection begins.
  package enum Start: Sendable {
    /// Goes on with the session, or begins one that outlives the connection.
    case resume
    /// Begins a session without anything from before.
    case clean
    /// Only ends the session that the broker holds, so that the next connection begins one which
    /// lasts. 3.1.1 has one flag for a clean start and for a session that ends with its connection
    /// (3.1.2.4); and of an MQTT 5 session that started clean mosquitto 2.0.11 saves nothing.
    case wipe
  }
}
