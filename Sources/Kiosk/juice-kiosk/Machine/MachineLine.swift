import JuiceDomain
import KioskProtocol

/// A line that a person types at a machine.
enum MachineLine {
  /// The end of a job.
  ///
  /// - Parameter job: The number of the job, or `nil` for the oldest active one.
  case ends(job: Int?, MachineAnswer.Status)
  /// A job waits for a person, or goes on.
  ///
  /// - Parameters:
  ///   - job: The number of the job, or `nil` for the oldest active one.
  ///   - reason: The reason why the job waits, or `nil` if it goes on.
  case waits(job: Int?, reason: String?)
  case status(MachineStatus)

  static let help = """
    Enter: done. failed jam kiwi=1: it failed, the reason, and the fruit that was used up.
    waiting no cup: the job waits for a person. started: it goes on.
    fault no cups: the machine cannot work. out kiwi: it has no kiwi. online: it can work again.
    With several active jobs, type the job's number first: 12, or 12 failed jam.
    """

  /// Parses a line. Returns `nil` if the line is invalid.
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
    case "out" where words.count > 1:
      let fruits = words.dropFirst().compactMap { Fruit.ID(String($0)) }
      guard fruits.count == words.count - 1 else { return nil }
      self = .status(.out(Set(fruits)))
      return
    default: break
    }
    let job = words.first.flatMap { Int($0) }
    if job != nil { words.removeFirst() }
    switch words.first {
    case nil: self = .ends(job: job, .done)
    case "done" where words.count == 1: self = .ends(job: job, .done)
    case "started" where words.count == 1: self = .waits(job: job, reason: nil)
    case "waiting" where words.count > 1:
      self = .waits(job: job, reason: words.dropFirst().joined(separator: " "))
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
