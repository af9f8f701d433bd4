import ArgumentParser
import CommandLineSupport
import DashboardWeb
import KioskProtocol
import YAMLConfiguration

struct Notify: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Test the delivery of notifications.",
    discussion: """
      Sends a test message to each receiver in the section 'notify' of the configuration, and prints for each one \
      whether it was delivered, or the problem. The dashboard need not run.
      """)

  @Flag(help: "Send the test message (required).")
  var test = false

  @OptionGroup var options: ConfigurationOptions

  func validate() throws {
    guard test else { throw ValidationError("Use --test to send a message to all receivers.") }
  }

  func run() async throws {
    guard let notify = try options.load().notify else {
      throw Failure.badConfiguration(
        "there is no receiver: the configuration has no section 'notify'")
    }
    let receivers = try Notifier.Receiver.all(notify)
    let formatter = NotificationFormatter(notify.language, baseURL: notify.link)
    let notification = formatter.test(at: .now)
    var failed = 0
    for receiver in receivers {
      switch await receiver.send(
        formatter.fitting(notification, in: receiver.maximumLength))
      {
      case .delivered:
        try StandardOutput.write(
          "\(receiver.name): sent", after: "the test message to \(receiver.name) was sent")
      case .refused(let problem), .failed(let problem):
        try StandardOutput.write("\(receiver.name): \(problem.visible())")
        failed += 1
      }
    }
    guard failed == 0 else {
      throw Failure.unavailable("\(failed) of \(receivers.count) messages were not delivered")
    }
  }
}
