import ArgumentParser
import CommandLineSupport
import DashboardWeb
import KioskProtocol
import YAMLConfiguration

struct Notify: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Try whether people can be told of troubles.",
    discussion: """
      Sends a message to everybody whom the section 'notify' of the configuration names, and says for \
      each whether it was taken, or else why not. The dashboard itself may run or not.
      """)

  @Flag(help: "Send the message; nothing else is done without it.")
  var test = false

  @OptionGroup var options: ConfigurationOptions

  func validate() throws {
    guard test else { throw ValidationError("Say --test to send a message to everybody.") }
  }

  func run() async throws {
    guard let notify = try options.load().notify else {
      throw Failure.badConfiguration("nobody is told: the configuration has no section 'notify'")
    }
    let receivers = try Notifier.Receiver.all(notify)
    let notification = NotificationFormatter(notify.language, baseURL: notify.link).test(at: .now)
    var failed = 0
    for receiver in receivers {
      switch await receiver.send(notification) {
      case .delivered: StandardOutput.write("\(receiver.name): sent")
      case .refused(let problem), .failed(let problem):
        StandardOutput.write("\(receiver.name): \(problem)")
        failed += 1
      }
    }
    guard failed == 0 else {
      throw Failure.unavailable("\(failed) of \(receivers.count) were not told")
    }
  }
}
