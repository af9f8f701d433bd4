import ArgumentParser
import CommandLineSupport
import KioskDaemon
import KioskProtocol
import MessageBroker
import YAMLConfiguration

struct Watch: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show a kiosk's stock and servings, live.",
    discussion: """
      On a terminal, redraws the display at each change; elsewhere, prints a line for each change. \
      Runs until it is interrupted.
      """)

  @OptionGroup var options: ConfigurationOptions

  @Flag(help: "Print each message as a line of JSON: topic and payload.")
  var json = false

  func run() async throws {
    let configuration = try options.load()
    let broker = try configuration.makeBroker()
    let topics = configuration.topics
    await broker.connect(
      .forCommand("watch", subscribingTo: KioskView.filters(of: topics)))
    var view = KioskView(topics: topics, language: configuration.kiosk.language)
    let isLive = StandardOutput.isTerminal && !json
    while let event = await broker.nextEvent(timeout: nil) {
      switch event {
      case .deliveries(let deliveries):
        await broker.acknowledge()
        for delivery in deliveries {
          let message = delivery.message
          let change = view.update(topic: message.topic, payload: message.payload)
          if json {
            try StandardOutput.write(json: message.line)
          } else if let change, !isLive {
            try StandardOutput.write(change)
          }
        }
        if isLive {
          let width = StandardOutput.width ?? 80
          try StandardOutput.redraw(view.lines(width: width, color: true, at: .now))
        }
      case .offline(let error):
        guard error.isTransient else { throw error }
        StandardError.write("juice-kiosk: \(error); retrying")
      case .online, .confirmed, .updated, .refused, .sessionBegan:
        break
      }
    }
  }
}

extension Message {
  fileprivate var line: [UInt8] {
    JSONWriter.object { json in
      json.member("topic", topic)
      json.member("payload", String(decoding: payload, as: UTF8.self))
    }
  }
}

extension StandardOutput {
  /// Clears the screen and draws the lines from its top.
  fileprivate static func redraw(_ lines: [String]) throws(Failure) {
    try write(screen: "\u{1B}[H\u{1B}[2J" + lines.joined(separator: "\n").visibleWithColors)
  }
}
