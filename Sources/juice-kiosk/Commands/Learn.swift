import ArgumentParser
import JuiceMaker
import KioskConfiguration
import KioskMessages
import MessageBroker
import Panels
import Program

struct Learn: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Listen for a press of a button, and print how to bind it.",
    discussion: """
      Press the button of a new device, once. What it sent is recognised, and the lines for the \
      configuration are printed: name the panel, and choose the juice.

      The account that logs in must be allowed to read all topics.
      """)

  @OptionGroup var options: ConfigurationOptions

  @Option(help: ArgumentHelp("Listen to these topics.", valueName: "topic-filter"))
  var topic = "#"

  @Option(help: ArgumentHelp("How many devices to wait for.", valueName: "number"))
  var count = 1

  @Option(help: ArgumentHelp("How long to wait for a press.", valueName: "seconds"))
  var timeout = 300

  func validate() throws {
    do { _ = try TopicFilter(topic) } catch { throw ValidationError("no topic filter: \(error)") }
    guard (1...1000).contains(count), (1...86_400).contains(timeout) else {
      throw ValidationError("1 to 1000 devices, and 1 to 86400 seconds")
    }
  }

  func run() async throws {
    let configuration = try options.load()
    let broker = try configuration.makeBroker()
    await broker.connect(.forCommand("learn", hearing: [topic]))
    let deadline = ContinuousClock.now + .seconds(timeout)
    var lesson = Lesson(configuration)
    while lesson.learned < count {
      switch await broker.nextEvent(timeout: deadline - .now) {
      case .online:
        StandardError.write("Press the button, once. (Ctrl-C ends this.)")
      case .deliveries(let deliveries):
        await broker.settle()
        for delivery in deliveries where lesson.learned < count {
          if let text = lesson.take(delivery.message) { StandardOutput.write(text) }
        }
      case .offline(let error):
        await broker.disconnect(grace: .zero)
        throw Failure(error)
      case .confirmed, .updated, .refused:
        continue
      case nil:
        await broker.disconnect(grace: .zero)
        throw Failure.tryAgain("no press was heard: is the device at this broker?")
      }
    }
    await broker.disconnect(grace: .seconds(1))
  }
}

/// Which devices have been heard so far.
private struct Lesson {
  private let topics: KioskTopics
  private let bound: [TopicFilter]
  private let juice: String
  private var heard: Set<String> = []

  init(_ configuration: KioskConfiguration) {
    topics = configuration.topics
    bound = configuration.panels.flatMap(\.filters).map(TopicFilter.init(unchecked:))
    juice = configuration.menu.juices.first?.id.text ?? "kiwi"
  }

  var learned: Int { heard.count }

  /// What to print about a message; `nil` if it is no press of a device that is new here.
  mutating func take(_ message: Message) -> String? {
    // What the broker had kept was not pressed now, and Home Assistant's topics are no device's.
    guard !message.retain, !message.topic.hasPrefix(topics.base + "/"),
      !message.topic.hasPrefix("homeassistant/"),
      let recognition = Recognition(message.payload, on: message.topic),
      heard.insert(recognition.topic).inserted
    else { return nil }
    let known = bound.contains { $0.matches(message.topic) }
    return """
      # \(recognition.press.names.first ?? "") on \(message.topic)\
      \(known ? " (a panel of the configuration hears it already)" : "")
      \(recognition.yaml(name: "panel\(learned)", juice: juice))
      """
  }
}
