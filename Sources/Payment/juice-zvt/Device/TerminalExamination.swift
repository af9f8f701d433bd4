import NIOCore
import NIOPosix
import ZVT

/// A short connection that registers at a terminal, reads its state and its open reservations, and
/// moves no money.
struct TerminalExamination {
  struct Report: Sendable {
    var terminal: String?
    var version: String?
    var state: ResultCode?
    var clock: String?
    /// The receipt numbers of open reservations, only one of them if the terminal has no list; or `nil` if
    /// the terminal does not report them.
    var openReceipts: [Int]?
  }

  enum Problem: Error {
    case unreachable(String)
    case refused(TerminalCommand, ResultCode)
    case silent(TerminalCommand)
  }

  private enum Input: Sendable {
    case event(TerminalConnection.Event)
    case late
  }

  let configuration: ZVTConfiguration
  let timeout: Duration

  func report() async throws(Problem) -> Report {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let (inputs, input) = AsyncStream<Input>.makeStream()
    group.next().scheduleTask(in: .nanoseconds(timeout.components.seconds * 1_000_000_000)) {
      _ = input.yield(.late)
    }
    TerminalConnection.connect(to: configuration.host, port: configuration.port, on: group) {
      input.yield(.event($0))
    }
    var dialog = Dialog(configuration.device)
    var connection: TerminalConnection?
    let start = ContinuousClock.now
    var result: Result<Report, Problem>?
    for await next in inputs {
      let actions: [TerminalSession.Action]
      switch next {
      case .late: actions = dialog.end()
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

    init(_ settings: DeviceSettings) {
      session = TerminalSession(settings.session)
      rest = [
        .register(
          password: settings.password, configuration: settings.configuration,
          currency: settings.currencyNumber, hasContainer: settings.hasContainer),
        .enquireStatus(password: settings.password), .openReservations,
      ]
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
      var actions = session.receive(bytes, at: now)
      for case .ended(let command, let outcome) in actions {
        take(command, outcome)
        if result == nil { actions += next(at: now) }
      }
      return actions
    }

    /// Ends the dialog. If it has no result yet, the result is a failure.
    mutating func end() -> [TerminalSession.Action] {
      result = result ?? .failure(current.map(Problem.silent) ?? .unreachable("no connection"))
      return []
    }

    private mutating func take(_ command: TerminalCommand, _ outcome: TerminalSession.Outcome) {
      switch (command, outcome) {
      case (.register, .refused(let code)), (.register, .aborted(let code, _, _)):
        result = .failure(.refused(command, code))
      case (_, .completed(_, let completion)):
        report.terminal = completion?.fields.terminal ?? report.terminal
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
