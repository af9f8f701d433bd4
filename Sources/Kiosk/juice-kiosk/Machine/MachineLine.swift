import JuiceDomain
import KioskProtocol

/// A command that a person types at a machine.
enum MachineLine {
  /// The end of a job.
  ///
  /// - Parameter job: the number of the job, or `nil` for the oldest active one.
  case ends(job: Int?, MachineAnswer.Status)
  case status(MachineStatus)

  static let help = """
    Enter: done. failed jam kiwi=1: it failed, why, and the fruit that is gone.
    fault no cups: the machine cannot work. online: it can again.
    With several in hand a job's number comes first: 12, or 12 failed jam.
    """

  /// Parses a line.
  ///
  /// - Returns: `nil` if the line is not a command.
  init?(_ line: String) {
    var words = line.prefix(200).split(separator: " ")
    switch words.first {
    case "online" where words.count == 1:
      self = .status(.online)
      return
    case "fault":
      guard let status = MachineStatus(words.joined(separator: " ")) else { return nil }
      self = .status(status)
      return
    default: break
    }
    let job = words.first.flatMap { Int($0) }
    if job != nil { words.removeFirst() }
    switch words.first {
    case nil: self = .ends(job: job, .done)
    case "done" where words.count == 1: self = .ends(job: job, .done)
    case "failed":
      var used: FruitAmounts = [:]
      var reason: [Substring] = []
      for word in words.dropFirst() {
        if let gone = FruitNumber(argument: String(word)) {
          used[gone.fruit] = gone.number
        } else {
          reason.append(word)
        }
      }
      self = .ends(
        job: job,
        .failed(
          reason: reason.isEmpty ? "failed" : reason.joined(separator: " "),
          used: used.isEmpty ? nil : used))
    default: return nil
    }
  }
}
