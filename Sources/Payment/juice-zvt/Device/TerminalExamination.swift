import NIOCore
import NIOPosix
import ZVT

/// A short connection that registers at a terminal, reads its state, its open reservations and its last
/// result. With `triesPace`, it also lets a customer pay the smallest amount and never reports the goods as
/// made, until the terminal gives the amount back.
struct TerminalExamination {
  struct Report: Sendable {
    var terminal: String?
    var version: String?
    var state: ResultCode?
    var clock: String?
    /// The receipt numbers of open reservations, only one of them if the terminal has no list; or `nil` if
    /// the terminal does not report them.
    var openReceipts: [Int]?
    /// The currency that the terminal reports at the registration, as an ISO 4217 number.
    var currency: Int?
    /// Whether the terminal repeats its last result.
    var repeats = false
    var pace: Pace?
  }

  /// The measured patience of a terminal that waits for the goods.
  struct Pace: Sendable {
    /// The number of questions whether the goods are made.
    var questions = 0
    /// The times of the first question, and of the end.
    var first: Duration?
    var end = Duration.zero
    /// Whether the terminal has kept the amount, although the goods were not made.
    var isKept = false
    /// The reason of the end, or `nil` if it gave none.
    var reason: ResultCode?

    var waited: Duration { first.map { end - $0 } ?? .zero }
  }

  enum Problem: Error {
    case unreachable(String)
    case refused(TerminalCommand, ResultCode)
    case silent(TerminalCommand)
  }

  private enum Input: Sendable {
    case event(TerminalConnection.Event)
    case tick
    case late
  }

  let configuration: ZVTConfiguration
  let timeout: Duration
  var triesPace = false

  func report() async throws(Problem) -> Report {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let (inputs, input) = AsyncStream<Input>.makeStream()
    let pace = triesPace ? Duration.seconds(90) + configuration.device.patience * 2 : .zero
    group.next().scheduleTask(in: .seconds((timeout + pace).components.seconds)) {
      _ = input.yield(.late)
    }
    TerminalConnection.connect(to: configuration.host, port: configuration.port, on: group) {
      input.yield(.event($0))
    }
    var dialog = Dialog(configuration.device, triesPace: triesPace)
    var connection: TerminalConnection?
    let start = ContinuousClock.now
    var result: Result<Report, Problem>?
    for await next in inputs {
      let actions: [TerminalSession.Action]
      switch next {
      case .late: actions = dialog.end()
      case .tick: actions = dialog.tick(at: ContinuousClock.now - start)
      case .event(.failed(let reason)):
        result = .failure(.unreachable(reason))
        actions = []
      case .event(.closed): actions = dialog.end()
      case .event(.connected(let new)):
        connection = new
        actions = dialog.begin()
      case .event(.received(let bytes, let from)):
        actions = dialog.receive(bytes, at: ContinuousClock.now - start)
        from.readMore()
      }
      for case .send(let bytes) in actions { connection?.send(bytes) }
      if let deadline = dialog.deadline {
        let wait = max(.zero, deadline - (ContinuousClock.now - start)).components
        let time = TimeAmount.nanoseconds(
          wait.seconds * 1_000_000_000 + wait.attoseconds / 1_000_000_000 + 1)
        group.next().scheduleTask(in: time) { _ = input.yield(.tick) }
      }
      if let ended = result ?? dialog.result {
        result = ended
        break
      }
    }
    connection?.close()
    try? await group.shutdownGracefully()
    return try (result ?? .failure(.unreachable("it does not answer"))).get()
  }

  /// The commands in their order, and the report from their results.
  private struct Dialog {
    private var session: TerminalSession
    private var rest: [TerminalCommand]
    private var current: TerminalCommand?
    private var report = Report()
    private(set) var result: Result<Report, Problem>?

    var deadline: Duration? { session.deadline }

    init(_ settings: DeviceSettings, triesPace: Bool) {
      session = TerminalSession(settings.session)
      rest = [
        .register(
          password: settings.password, configuration: settings.configuration,
          currency: settings.currencyNumber, hasContainer: settings.hasContainer),
        .enquireStatus(password: settings.password), .openReservations,
        .repeatReceipt(password: settings.password),
      ]
      if triesPace { rest.append(.authorise(amount: 1, asks: settings.asks)) }
    }

    mutating func begin() -> [TerminalSession.Action] {
      session.open()
      return next(at: .zero)
    }

    private mutating func next(at now: Duration) -> [TerminalSession.Action] {
      guard !rest.isEmpty else {
        result = .success(report)
        return []
      }
      let command = rest.removeFirst()
      current = command
      return session.begin(command, at: now)
    }

    mutating func receive(_ bytes: [UInt8], at now: Duration) -> [TerminalSession.Action] {
      process(session.receive(bytes, at: now), at: now)
    }

    mutating func tick(at now: Duration) -> [TerminalSession.Action] {
      process(session.tick(at: now), at: now)
    }

    private mutating func process(
      _ events: [TerminalSession.Action], at now: Duration
    ) -> [TerminalSession.Action] {
      var actions = events
      for event in events {
        switch event {
        case .approved:
          var pace = report.pace ?? Pace(first: now)
          pace.questions += 1
          report.pace = pace
        case .ended(let command, let outcome):
          take(command, outcome, at: now)
          if result == nil { actions += next(at: now) }
        case .send, .accepted, .progress, .drop: break
        }
      }
      return actions
    }

    /// Ends the dialog. If it has no result yet, the result is a failure.
    mutating func end() -> [TerminalSession.Action] {
      result = result ?? .failure(current.map(Problem.silent) ?? .unreachable("no connection"))
      return []
    }

    private mutating func take(
      _ command: TerminalCommand, _ outcome: TerminalSession.Outcome, at now: Duration
    ) {
      switch (command, outcome) {
      case (.authorise, _):
        var pace = report.pace ?? Pace()
        pace.end = now
        switch outcome {
        case .completed:
          pace.reason = outcome.failure
          pace.isKept = outcome.failure == nil
        case .aborted(let code, _, _), .refused(let code): pace.reason = code
        case .lost: break
        }
        report.pace = pace
      case (.repeatReceipt, .completed(let fields, _)): report.repeats = fields != nil
      case (.register, .refused(let code)), (.register, .aborted(let code, _, _)):
        result = .failure(.refused(command, code))
      case (_, .completed(_, let completion)):
        report.terminal = completion?.fields.terminal ?? report.terminal
        report.currency = completion?.fields.currency ?? report.currency
        report.clock = completion?.fields.clock ?? report.clock
        report.version = completion?.version ?? report.version
        if case .enquireStatus = command {
          report.state = ResultCode(completion?.state ?? 0)
        }
      case (.enquireStatus, .aborted(let code, _, _)): report.state = code
      case (.openReservations, .aborted(_, _, let fields?)):
        report.openReceipts =
          fields.openReceipts ?? (fields.hasReceipt ? [fields.receipt].compactMap(\.self) : nil)
      default: break
      }
    }
  }
}
