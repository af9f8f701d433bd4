import Fleet
import Foundation
import HTTPTypes
import Hummingbird
import InMemoryBroker
import JuiceDomain
import KioskProtocol
import Logging
import MessageBroker
import NIOCore
import NIOEmbedded
import Synchronization
import TestSupport
import Testing

@testable import DashboardWeb

/// A dashboard with the users minji (operator) and vera (viewer), and the kiosk k1 with the
/// built-in menu, which the test simulates.
final class Scene: Sendable {
  static let time = Timestamp(milliseconds: 1_795_251_600_000)
  let now = Scene.time
  let dashboard: DashboardServer
  private let responder: any HTTPResponder<PageContext>
  private let network: MemoryBroker
  private let broker: MemoryClient
  private let cookies = Mutex<[String: String]>([:])
  private let publications = Mutex<Int64>(0)
  private let clock: Clock

  private static let noLogger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  /// The clock for sessions and login attempts; it advances only when a test says so.
  private final class Clock: Sendable {
    let now = Mutex(ContinuousClock.Instant.start)
  }

  private init(dashboard: DashboardServer, network: MemoryBroker, clock: Clock) {
    self.dashboard = dashboard
    responder = dashboard.responder()
    (self.network, broker) = (network, network.client())
    self.clock = clock
  }

  /// - Parameters:
  ///   - answerTimeout: Maximum time that a command waits for its result; long, so that a slow test
  ///     still receives it.
  ///   - archive: The archive of the chain, or `nil` if there is none.
  static func run(
    _ settings: DashboardSettings = DashboardSettings(port: 0),
    answerTimeout: Duration = .seconds(600), archive: ChainArchive? = nil,
    _ body: @Sendable @escaping (Scene) async throws -> Void
  ) async throws {
    try await withUserFile { users in
      let (minji, vera) = (try User.test("minji", .operator), try User.test("vera", .viewer))
      try users.update { $0 = [minji.name: minji, vera.name: vera] }
      let (network, time) = (MemoryBroker(), Timestamp(milliseconds: 1_795_251_600_000))
      let link = KioskLink(
        broker: network.client(), root: "kiosk", now: { time }, answerTimeout: answerTimeout,
        logger: noLogger)
      let clock = Clock()
      var settings = settings
      settings.stateFolder = "\(users.path).state"
      let dashboard = DashboardServer(
        settings: settings, users: users, link: link, archive: archive, cost: .small,
        now: { clock.now.withLock { $0 } })
      let running = Task { await link.run() }
      defer { running.cancel() }
      let scene = Scene(dashboard: dashboard, network: network, clock: clock)
      try await scene.open()
      try await withDeadline { try await body(scene) }
      await running.cancelAndWait()
    }
  }

  /// Returns the scene after a restart of the dashboard, with the same files and without cookies.
  func restarted() -> Scene {
    let clock = clock
    let dashboard = DashboardServer(
      settings: dashboard.settings, users: UserFile(path: dashboard.users.path),
      link: dashboard.link, archive: dashboard.archive, cost: .small,
      now: { clock.now.withLock { $0 } })
    return Scene(dashboard: dashboard, network: network, clock: clock)
  }

  /// Connects the kiosk and waits until the dashboard has received its state.
  private func open() async throws {
    await broker.connect(
      SessionOptions(
        clientID: "kiosk",
        subscriptions: try ["restock", "service", "settings", "order", "job", "program", "report"]
          .map {
            try TopicFilter("kiosk/+/\($0)/+")
          }))
    while let event = await broker.nextEvent(timeout: nil), event != .online {}
    let fruits = Menu.standard.fruits.map(\.id)
    func amounts(_ amount: Int) -> FruitAmounts { FruitAmounts(fruits.map { ($0, amount) }) }
    try await kiosk(
      "menu",
      MenuReport(menu: .standard, capacities: amounts(100), lowMarks: amounts(5)).payload)
    try await kiosk("stock", StockReport(seq: 1, at: now, fruits: amounts(10)).payload)
    try await kiosk("status", Array("online".utf8))
  }

  /// Publishes a message of a kiosk, and waits until the dashboard has received it.
  func kiosk(
    _ topic: String, _ payload: [UInt8], retain: Bool = true, of kiosk: KioskID = "k1"
  ) async throws {
    guard
      let signals = dashboard.link.updates.subscribe(to: .fleet, session: "test", user: nil)
    else { throw RequestError.tooManyPages }
    // The health report is published last, so its arrival means that the message has arrived.
    let mark = publications.withLock { publications in
      publications += 1
      return Timestamp(milliseconds: now.milliseconds + publications)
    }
    let health = KioskHealth(
      at: mark, uptime: 0, counters: KioskHealth.Counters(), memory: nil, queue: 0,
      service: .open, low: 0, out: 0, ledger: nil)
    try await broker.publish([
      Message(topic: "kiosk/\(kiosk)/\(topic)", payload: payload, retain: retain),
      Message(topic: "kiosk/k1/health", payload: health.payload, retain: true),
    ])
    await broker.acknowledge()
    for await _ in signals where dashboard.link.fleet["k1"]?.lastMessageAt == mark { break }
  }

  /// Publishes a message of the kiosk without a health report after it.
  func receive(_ topic: String, _ payload: [UInt8]) async throws {
    guard
      let signals = dashboard.link.updates.subscribe(to: .fleet, session: "test", user: nil)
    else { throw RequestError.tooManyPages }
    let before = dashboard.link.fleet["k1"]?.lastMessageAt
    try await broker.publish([Message(topic: "kiosk/k1/\(topic)", payload: payload, retain: true)])
    await broker.acknowledge()
    for await _ in signals where dashboard.link.fleet["k1"]?.lastMessageAt != before { break }
  }

  /// Stops the broker, and waits until the dashboard has detected it.
  func stopBroker() async throws {
    guard
      let signals = dashboard.link.updates.subscribe(to: .fleet, session: "test", user: nil)
    else { throw RequestError.tooManyPages }
    network.stop()
    for await _ in signals where dashboard.link.connectionError != nil { break }
  }

  /// Returns the next command that a kiosk receives.
  func nextCommand() async throws -> Message {
    while let event = await broker.nextEvent(timeout: nil) {
      guard case .deliveries(let deliveries) = event else { continue }
      await broker.acknowledge()
      return try #require(deliveries.first).message
    }
    throw RequestError.notFound
  }

  /// Returns the next command that a kiosk receives, which is of a kind and from minji.
  func nextRequest(
    _ kind: KioskProtocol.Command.Kind, of kiosk: KioskID = "k1",
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> KioskProtocol.Request {
    let message = try await nextCommand()
    #expect(
      message.topic == "kiosk/\(kiosk)/\(kind.rawValue)/minji", sourceLocation: sourceLocation)
    return try KioskProtocol.Request(kind: kind, payload: message.payload)
  }

  /// Publishes a kiosk's answer to a command of minji.
  func answer(
    _ result: CommandResult, to request: KioskProtocol.Request, of kiosk: KioskID = "k1"
  ) async throws {
    var result = result
    result.id = request.id
    try await self.kiosk(
      "\(request.command.kind.rawValue)/minji/result", result.payload, retain: false, of: kiosk)
  }

  func advance(_ time: Duration) { clock.now.withLock { $0 += time } }

  // MARK: A browser

  var session: String {
    get { cookies.withLock { $0[SessionMiddleware.sessionCookie] ?? "" } }
    set { cookies.withLock { $0[SessionMiddleware.sessionCookie] = newValue } }
  }

  /// The browser's cookies. Other cookies simulate another browser.
  var cookieJar: [String: String] {
    get { cookies.withLock { $0 } }
    set { cookies.withLock { $0 = newValue } }
  }

  /// The CSRF token of this session.
  var csrfToken: String { dashboard.sessions.csrfToken(for: session) }

  /// - Parameter fields: Fields that a proxy adds.
  func get(_ path: String, _ fields: HTTPFields = [:]) async throws -> Answer {
    try await ask(.get, path, headers + fields)
  }

  func head(_ path: String) async throws -> Answer { try await ask(.head, path, headers) }

  func options(_ path: String) async throws -> Answer { try await ask(.options, path, headers) }

  /// - Parameters:
  ///   - address: The visitor's address, as a proxy reports it.
  ///   - fields: Further fields of the browser.
  func post(
    _ path: String, _ body: String, from address: String = "", fields: HTTPFields = [:]
  ) async throws -> Answer {
    var fields = headers + fields
    fields[.forwardedFor] = address
    return try await ask(.post, path, fields, body)
  }

  private func ask(
    _ method: HTTPRequest.Method, _ path: String, _ headers: HTTPFields, _ body: String = ""
  ) async throws -> Answer {
    let head = HTTPRequest(
      method: method, scheme: "http", authority: "localhost", path: path,
      headerFields: headers + [.contentLength: "\(body.utf8.count)"])
    let request = Request(head: head, body: RequestBody(asyncSequence: OneReading(of: body)))
    let source = ApplicationRequestContextSource(
      channel: NIOAsyncTestingChannel(), logger: Self.noLogger)
    let response = try await responder.respond(to: request, context: PageContext(source: source))
    let page = Answer.Page()
    try await response.body.write(page)
    return Answer(head: response.head, text: page.bytes.withLock { String(buffer: $0) })
  }

  func logIn(
    _ name: String, _ password: String = "strawberries", from address: String = ""
  ) async throws -> Answer {
    try await post(
      "/login", "csrf_token=\(csrfToken)&name=\(name)&password=\(password)&to=/", from: address)
  }

  /// Logs in and stores the cookies.
  func authenticate(_ name: String, from address: String = "") async throws {
    session = try await get("/login").session ?? session
    let answer = try await logIn(name, from: address)
    #expect(answer.status == .seeOther)
    cookies.withLock { $0.merge(answer.cookies) { $1 } }
  }

  private var headers: HTTPFields {
    [.cookie: cookies.withLock { $0.map { "\($0)=\($1)" }.joined(separator: "; ") }]
  }
}

/// A response of the dashboard.
struct Answer: Sendable {
  /// The bytes written to a body.
  fileprivate final class Page: ResponseBodyWriter {
    let bytes = Mutex(ByteBuffer())

    func write(_ buffer: ByteBuffer) async throws {
      bytes.withLock { _ = $0.writeImmutableBuffer(buffer) }
    }

    func finish(_ trailer: HTTPFields?) async throws {}
  }

  fileprivate let head: HTTPResponse
  let text: String

  var status: HTTPResponse.Status { head.status }
  var headers: HTTPFields { head.headerFields }

  /// The session token that the response sets.
  var session: String? { cookies[SessionMiddleware.sessionCookie] }

  var cookies: [String: String] {
    let pairs = headers[values: .setCookie].compactMap { cookie -> (String, String)? in
      let pair = cookie.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
      return pair.count == 2 ? (String(pair[0]), String(pair[1])) : nil
    }
    return Dictionary(pairs) { $1 }
  }
}

/// The body of a request of a connection: Hummingbird ends the process at a second reading.
final class OneReading: AsyncSequence, Sendable {
  private let text: String
  private let isRead = Mutex(false)

  init(of text: String) { self.text = text }

  func makeAsyncIterator() -> AsyncStream<ByteBuffer>.Iterator {
    let isSecond = isRead.withLock { isRead in
      defer { isRead = true }
      return isRead
    }
    if isSecond { Issue.record("the body of a request is read a second time") }
    let (stream, source) = AsyncStream<ByteBuffer>.makeStream()
    source.yield(ByteBuffer(string: text))
    source.finish()
    return stream.makeAsyncIterator()
  }
}

extension Task where Failure == Never {
  fileprivate func cancelAndWait() async {
    cancel()
    _ = await value
  }
}
