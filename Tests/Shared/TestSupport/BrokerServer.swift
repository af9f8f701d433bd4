/// A broker in a process of its own, which a test may stop and start again at the same address.
package protocol BrokerServer: Sendable {
  var port: UInt16 { get }
  /// Where somebody with the name and password of nobody is refused.
  var refusingPort: UInt16 { get }
  /// With which its clients log in, if they have to.
  var login: (name: String, password: String)? { get }

  func start() throws

  /// Ends it in good order: it saves what it saves.
  func stop()

  /// Forgets what a `stop` has saved.
  func eraseStore()

  func tearDown()

  /// How many connections of this client it has seen end, so far.
  func endedConnections(of clientID: String) -> Int
}
