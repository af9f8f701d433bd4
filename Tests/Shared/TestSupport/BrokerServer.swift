/// A broker in its own process, which a test can stop and restart at the same address.
package protocol BrokerServer: Sendable {
  var port: UInt16 { get }
  /// The port of a listener that refuses logins without valid credentials.
  var refusingPort: UInt16 { get }
  /// The credentials of its clients, or `nil` if it accepts anonymous ones.
  var login: (name: String, password: String)? { get }

  func start() throws

  /// Stops the broker regularly, so that it saves its state.
  func stop()

  /// Deletes the state that `stop` has saved.
  func eraseStore()

  func tearDown()

  /// Returns the number of connections of this client that have ended.
  func endedConnections(of clientID: String) -> Int
}
