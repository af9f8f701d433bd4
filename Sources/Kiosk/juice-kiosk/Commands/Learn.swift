import ArgumentParser
import CommandLineSupport
import Devices
import JuiceDomain
import KioskDaemon
import KioskProtocol
import MessageBroker
import YAMLConfiguration

struct Learn: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Wait for a press of a button, and print its configuration.",
    discussion: """
      Press the button of a new device once. The program recognises its message, and prints the \
      lines for the configuration: name the panel, and choose the juice.

      The account that logs in must be allowed to read all topics.
      """)

  @OptionGroup var options: ConfigurationOptions

  @Option(help: ArgumentHelp("Topics to subscribe to.", valueName: "topic-filter"))
  var topic = "#"

  @Option(help: ArgumentHelp("How many devices to wait for.", valueName: "number"))
  var count = 1

  @Option(help: ArgumentHelp("How long to wait for a press.", valueName: "seconds"))
  var timeout = 300

  func validate() throws {
    do { _ = try TopicFilter(topic) } catch {
      throw ValidationError("invalid topic filter: \(error)")
    }
    guard (1...1000).contains(count), (1...86_400).contains(timeout) else {
      throw ValidationError("--count is 1 to 1000, and --timeout 1 to 86400.")
    }
  }

  func run() async throws {
    let configuration = try options.load()
    let broker = try configuration.makeBroker()
    await broker.connect(.forCommand("learn", subscribingTo: [topic]))
    let clock = ContinuousClock()
    let start = clock.now
    var discovery = DeviceDiscovery(at: .zero)
    var printer = PanelPrinter(configuration)
    var shared = SharedTopics()
    while printer.count < count {
      let now = clock.now - start
      let wait = min(discovery.due ?? .seconds(timeout), .seconds(timeout)) - now
      switch await broker.nextEvent(timeout: max(wait, .zero)) {
      case .online:
        discovery = DeviceDiscovery(at: clock.now - start)
        StandardError.write("Press the button, once. (Ctrl-C ends this.)")
      case .deliveries(let deliveries):
        await broker.acknowledge()
        let now = clock.now - start
        for message in deliveries.map(\.message) where printer.count < count {
          // A retained message is not a press that happens now.
          guard !message.retain, printer.isOfDevice(message.topic) else { continue }
          if let warning = shared.observe(message.payload, on: message.topic) {
            StandardError.write(warning.visible().wrapped(to: StandardError.width))
          }
          switch discovery.observe(message.payload, on: message.topic, at: now) {
          case .nothing: continue
          case .press(let recognition): try printer.print(recognition)
          case .uncertain(let recognition):
            StandardError.write(
              ("\(recognition.summary): the device repeats this event, which may be old. "
                + "If this is your button, press it once more.").wrapped(to: StandardError.width))
          }
        }
      case .offline(let error):
        await broker.disconnect(grace: .zero)
        throw error
      case .confirmed, .updated, .refused, .sessionBegan:
        continue
      case nil:
        let now = clock.now - start
        if let recognition = discovery.resolve(at: now) { try printer.print(recognition) }
        guard now >= .seconds(timeout), printer.count < count else { continue }
        await broker.disconnect(grace: .zero)
        guard let recognition = discovery.remaining else {
          throw Failure.tryAgain("no press was received: check that the device uses this broker")
        }
        return try printer.print(recognition, note: "; it may be an old one")
      }
    }
    await broker.disconnect(grace: .seconds(1))
  }
}

/// Prints the lines to paste into the configuration, one panel for each device.
private struct PanelPrinter {
  private let topics: KioskTopics
  private let bound: [TopicFilter]
  /// The panels of the configuration, and those that were printed.
  private var panels: [PanelBinding]
  private let juice: String
  private var names: Set<String>
  private(set) var count = 0

  init(_ configuration: KioskConfiguration) {
    topics = configuration.topics
    // The configuration was checked, so each filter is valid.
    bound = configuration.panels.flatMap(\.filters).compactMap { try? TopicFilter($0) }
    juice = configuration.menu.juices.first?.id.text ?? "kiwi"
    names = Set(configuration.panels.map(\.name))
    panels = configuration.panels
  }

  /// Returns whether a topic may belong to a device: it is neither one of the kiosk's own topics nor
  /// below the default prefix of Home Assistant discovery.
  func isOfDevice(_ topic: String) -> Bool {
    !topic.hasPrefix(topics.base + "/") && !topic.hasPrefix("homeassistant/")
  }

  mutating func print(_ recognition: Recognition, note: String = "") throws(Failure) {
    let isKnown = bound.contains { $0.matches(recognition.receivedOn) }
    let known = isKnown ? "; a panel of the configuration already receives it" : ""
    let name = (1...).lazy.map { "panel\($0)" }.first { !names.contains($0) } ?? ""
    names.insert(name)
    let comment = "\(recognition.summary)\(known)\(note)".visible()
    try StandardOutput.write("# " + comment.wrapped(to: StandardOutput.width, indent: "# "))
    let panel = recognition.panel(name: name)
    for warning in PanelBinding.sharedRemotes(of: panels + [panel])
    where !PanelBinding.sharedRemotes(of: panels).contains(warning) {
      try StandardOutput.write("# " + warning.wrapped(to: StandardOutput.width, indent: "# "))
    }
    panels.append(panel)
    if count == 0 { try StandardOutput.write("panels:") }
    try StandardOutput.write(recognition.entry(name: name, juice: juice))
    count += 1
  }
}
