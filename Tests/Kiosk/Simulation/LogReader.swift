import Logging

/// Passes the kiosk's log messages to the world, on the one thread of the simulation.
struct LogReader: LogHandler {
  unowned let world: World

  init(world: World) { self.world = world }

  var logLevel = Logger.Level.notice
  var metadata = Logger.Metadata()

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { world.read(log: "\(event.message)") }
}
