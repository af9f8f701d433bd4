import CommandLineSupport
import Foundation
import HTTPTypes
import JuiceDomain
import KioskProtocol
import Logging
import Synchronization
import Testing

@testable import DashboardWeb

@Suite struct AuthenticationTests {
  @Test func aPasswordIsKnownAgain() throws {
    let hash = try PasswordHash(of: "딸기쥬스 please", cost: .small)
    let again = try #require(PasswordHash(hash.description))
    #expect(again == hash)
    #expect(try again.matches("딸기쥬스 please"))
    #expect(try !again.matches("딸기쥬스 pleasE"))
    #expect(try !again.matches(""))
    #expect(try PasswordHash(of: "딸기쥬스 please", cost: .small).description != hash.description)
    #expect(!hash.description.contains("please"))
  }

  /// libcrypto refuses a cost that is no power of two, as it refuses one without enough memory.
  @Test func aPasswordThatCannotBeHashedIsNotAWrongOne() async throws {
    let impossible = PasswordHash.Cost(iterations: 1000, blockSize: 8, parallelism: 1)
    #expect(throws: PasswordHashError.self) {
      try PasswordHash.dummy(cost: impossible).matches("strawberries")
    }
    try await withUserFile { file in
      let authenticator = Authenticator(users: file, cost: impossible)
      // More often than wrong passwords are allowed.
      for _ in 1...30 {
        await #expect {
          try await authenticator.user(
            name: "minji", password: "strawberries", from: AddressBlock("127.0.0.1"), at: .now
          ) { _ in nil }
        } throws: {
          if case RequestError.busy = $0 { true } else { false }
        }
      }
    }
  }

  @Test(arguments: [
    "", "scrypt", "md5:1024:8:1:AAAAAAAAAAA=:AAAA", "scrypt:1000:8:1:AAAAAAAAAAA=:AAAA",
    "scrypt:1073741824:8:1:AAAAAAAAAAA=:AAAA", "scrypt:1024:8:1:AAAAAAAAAAA=:AAAA",
    "scrypt:1024:8:1:%%%:%%%", "scrypt:-1024:8:1:AAAAAAAAAAA=:AAAA",
  ])
  func anythingElseIsNoHash(text: String) {
    #expect(PasswordHash(text) == nil)
  }

  @Test func theFileOfUsersIsPrivateAndStrict() async throws {
    try await withUserFile { file in
      let user = try User.test("minji", .operator)
      try file.update { $0[user.name] = user }
      #expect(try file.users() == [user.name: user])
      // A change by another program takes effect at once.
      let path = file.path
      try "minji boss x\n".write(toFile: path, atomically: false, encoding: .utf8)
      #expect(throws: StateError.self) { try file.users() }
      try "# no users\n\n".write(toFile: path, atomically: false, encoding: .utf8)
      #expect(try file.users().isEmpty)
      try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
      #expect(throws: StateError.self) { try UserFile(path: path).users() }
    }
  }

  /// A file that a program is writing, or that cannot be opened for a moment.
  @Test(arguments: [
    "", "minji opera", "# no users\nminji operator scrypt:1024:8:1:AAAAAAAAAAA=:AA", nil,
  ])
  func whileTheFileCannotBeReadTheUsersReadLastRemain(text: String?) async throws {
    try await withUserFile { created in
      let (path, log) = (created.path, Recorder())
      let user = try User.test("minji", .operator)
      try created.update { $0[user.name] = user }
      let whole = try String(contentsOfFile: path, encoding: .utf8)
      let file = UserFile(path: path, logger: log.logger)
      #expect(file.current.users == [user.name: user] && file.current.problem == nil)
      try text?.write(toFile: path, atomically: false, encoding: .utf8)
      if text == nil { try FileManager.default.removeItem(atPath: path) }
      for _ in 0..<3 { #expect(file.current.users == [user.name: user]) }
      #expect(file.current.problem?.contains(path) == true)
      #expect(log.levels == [.error])
      try whole.write(toFile: path, atomically: false, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
      #expect(file.current.users == [user.name: user] && file.current.problem == nil)
      #expect(log.levels == [.error, .notice])
      // The last user was removed, which is no half written file.
      try file.update { $0 = [:] }
      #expect(file.current.users.isEmpty && file.current.problem == nil)
    }
  }

  @Test func theFileIsReadOnlyAfterAChange() async throws {
    try await withUserFile { created in
      let user = try User.test("minji", .operator)
      try created.update { $0[user.name] = user }
      let reads = Mutex(0)
      let isShort = Mutex(false)
      let path = created.path
      let file = UserFile(path: path) { () throws(StateError) in
        reads.withLock { $0 += 1 }
        if isShort.withLock({ $0 }) { throw StateError(path, "Too many open files") }
      }
      // A file that was changed a moment ago is read again, until its stamp is settled.
      while FileStamp(path)?.isSettled != true {
        #expect(file.current.users == [user.name: user])
        try await Task.sleep(for: .milliseconds(20))
      }
      _ = file.current
      let before = reads.withLock { $0 }
      isShort.withLock { $0 = true }
      for _ in 0..<100 { #expect(file.current.problem == nil) }
      #expect(reads.withLock { $0 } == before)
      // A change, while too many files are open.
      let changed = User(name: user.name, role: .viewer, password: user.password)
      try created.update { $0[user.name] = changed }
      #expect(file.current.users == [user.name: user] && file.current.problem != nil)
      isShort.withLock { $0 = false }
      #expect(file.current.users == [user.name: changed] && file.current.problem == nil)
    }
  }

  @Test func aLinkToTheFileStaysALink() async throws {
    try await withUserFile { file in
      let user = try User.test("minji", .operator)
      let folder = URL(filePath: file.path).deletingLastPathComponent()
      let other = folder.appending(path: "other")
      try FileManager.default.createDirectory(at: other, withIntermediateDirectories: false)
      let link = folder.appending(path: "link").path()
      try FileManager.default.createSymbolicLink(
        atPath: link, withDestinationPath: "other/relative")
      try FileManager.default.createSymbolicLink(
        atPath: other.appending(path: "relative").path(), withDestinationPath: file.path)
      // The target does not exist at first.
      for role in [User.Role.viewer, .operator] {
        let user = User(name: user.name, role: role, password: user.password)
        try UserFile(path: link).update { $0[user.name] = user }
        #expect(try file.users() == [user.name: user])
        #expect(
          try FileManager.default.destinationOfSymbolicLink(atPath: link) == "other/relative")
        #expect(try UserFile(path: link).users() == [user.name: user])
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: other.path()) == ["relative"])
    }
  }

  @Test(arguments: [["서울 North, 2"], ["Busan", "Seoul South"], []])
  func theRegionsOfAUserAreKeptAsTheyAreWritten(regions: [String]) async throws {
    try await withUserFile { file in
      let minji = try User.test("minji", .operator)
      let user = User(
        name: minji.name, role: .viewer, password: minji.password, regions: regions)
      try file.update { $0[user.name] = user }
      #expect(try UserFile(path: file.path).users() == [user.name: user])
    }
  }

  @Test func twoWhoChangeTheFileAtOnceBothDo() async throws {
    try await withUserFile { file in
      let users = try (0..<40).map { try User.test(try #require(User.Name("u\($0)")), .viewer) }
      await withTaskGroup { group in
        for user in users {
          // A separate object, as in each run of the command.
          group.addTask {
            #expect(throws: Never.self) {
              try UserFile(path: file.path).update { $0[user.name] = user }
            }
          }
        }
      }
      #expect(try file.users().count == users.count)
    }
  }

  @Test func aSessionEnds() throws {
    let (sessions, user, now) = (
      Sessions(), try User.test("minji", .viewer), Sessions.Instant.start
    )
    let token = sessions.begin(for: user, at: now)
    #expect(token.utf8.count == 43)
    #expect(sessions.user(of: token, at: now) == user)
    #expect(sessions.user(of: token + "x", at: now) == nil)
    #expect(sessions.user(of: token, at: now + Sessions.lifetime) == nil)
    #expect(sessions.user(of: token, at: now) == nil)
  }

  /// A session survives a restart of the dashboard with the tokens of its pages, unless it has ended or
  /// its user is changed.
  @Test func aSessionSurvivesARestart() async throws {
    try await Scene.run { scene in
      for name in ["minji", "vera", "minji"] {
        scene.cookieJar = [:]
        try await scene.authenticate(name)
      }
      let cookies = scene.cookieJar
      let path = "\(scene.dashboard.settings.stateFolder)/sessions.json"
      let stored = try String(contentsOfFile: path, encoding: .utf8)
      #expect(stored.contains("vera") && !stored.contains(scene.session))
      let restarted = scene.restarted()
      restarted.cookieJar = cookies
      #expect(try await restarted.get("/kiosks/k1").status == .ok)
      #expect(restarted.csrfToken == scene.csrfToken)
      let sessions = restarted.dashboard.sessions
      let listed = sessions.list(of: nil, at: .start, token: restarted.session) { _ in true }
      #expect(listed.map(\.user.text).sorted() == ["minji", "minji", "vera"])
      let later = scene.restarted().dashboard.sessions
      #expect(later.user(of: restarted.session, at: .start + Sessions.lifetime) == nil)
      // Another role ends the session, also while the dashboard does not run.
      try scene.dashboard.users.update { users in
        users["vera"] = users["vera"].map {
          User(name: $0.name, role: .operator, password: $0.password)
        }
      }
      _ = try await restarted.post("/logout", "csrf_token=\(restarted.csrfToken)")
      let again = restarted.restarted()
      again.cookieJar = cookies
      #expect(try await again.get("/kiosks/k1").status == .seeOther)
      let left = again.dashboard.sessions.list(of: nil, at: .start, token: "") { _ in true }
      #expect(left.map(\.user.text) == ["minji"])
    }
  }

  @Test func aLogoutWithoutASessionWritesNothing() async throws {
    try await Scene.run { scene in
      let path = "\(scene.dashboard.settings.stateFolder)/sessions.json"
      scene.session = try await scene.get("/login").session ?? ""
      #expect(
        try await scene.post("/logout", "csrf_token=\(scene.csrfToken)").status == .seeOther)
      #expect(!FileManager.default.fileExists(atPath: path))
      try await scene.authenticate("vera")
      #expect(try String(contentsOfFile: path, encoding: .utf8).contains("vera"))
      #expect(
        try await scene.post("/logout", "csrf_token=\(scene.csrfToken)").status == .seeOther)
      #expect(try !String(contentsOfFile: path, encoding: .utf8).contains("vera"))
    }
  }

  @Test(arguments: [(-1, false), (0, true), (43_199_999, true), (43_200_000, false)])
  func aStoredSessionHasTheRestOfItsTime(age: Int64, isValid: Bool) async throws {
    try await withUserFile { users in
      let minji = try User.test("minji", .operator)
      let folder = StateFolder(path: "\(users.path).state")
      let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
      func sessions(at time: Int64) -> Sessions {
        Sessions(
          in: folder, of: [minji.name: minji], at: .start, time: Timestamp(milliseconds: time),
          logger: logger)
      }
      let first = sessions(at: 5)
      let token = first.begin(
        for: minji, at: .start, from: Sessions.Origin(at: Timestamp(milliseconds: 1_000)))
      await first.save()
      let second = sessions(at: 1_000 + age)
      #expect((second.user(of: token, at: .start) != nil) == isValid)
      if isValid {
        let rest = Sessions.lifetime - .milliseconds(age)
        #expect(second.user(of: token, at: .start + rest) == nil)
      }
    }
  }

  @Test func onlySoManySessionsAreKept() throws {
    let (sessions, now) = (Sessions(), Sessions.Instant.start)
    let users = try (0...Sessions.maximum / Sessions.maximumOfUser).map { number in
      try User.test(try #require(User.Name("user\(number)")), .viewer)
    }
    let tokens = (0...Sessions.maximum).map { second in
      sessions.begin(for: users[second / Sessions.maximumOfUser], at: now + .seconds(second))
    }
    #expect(sessions.user(of: tokens[0], at: now) == nil)
    #expect(sessions.user(of: tokens[1], at: now) == users[0])
    #expect(sessions.user(of: tokens[Sessions.maximum], at: now) == users.last)
  }

  @Test func manySessionsOfOneUserEndNoneOfAnother() throws {
    let (sessions, now) = (Sessions(), Sessions.Instant.start)
    let (admin, vera) = (try User.test("minji", .operator), try User.test("vera", .viewer))
    let token = sessions.begin(for: admin, at: now)
    let tokens = (1...Sessions.maximum).map { sessions.begin(for: vera, at: now + .seconds($0)) }
    #expect(sessions.user(of: token, at: now) == admin)
    let kept = tokens.filter { sessions.user(of: $0, at: now) == vera }
    #expect(kept == Array(tokens.suffix(Sessions.maximumOfUser)))
  }

  @Test func aCSRFTokenIsGoodForOneTokenInOneProcess() {
    let sessions = Sessions()
    let csrfToken = sessions.csrfToken(for: "token")
    #expect(sessions.isValid(csrfToken: csrfToken, for: "token"))
    #expect(!sessions.isValid(csrfToken: csrfToken, for: "another"))
    #expect(!sessions.isValid(csrfToken: "", for: "token"))
    #expect(!sessions.isValid(csrfToken: "%", for: "token"))
    #expect(!Sessions().isValid(csrfToken: csrfToken, for: "token"))
  }

  @Test func aDeviceCookieIsGoodForOneUserAndPassword() throws {
    let minji = try User.test("minji", .operator)
    let cookie = DeviceCookie.make(for: minji)
    let device = try #require(DeviceCookie.device(cookie, of: minji))
    #expect(DeviceCookie.device(DeviceCookie.make(for: minji), of: minji) != device)
    let vera = User(name: "vera", role: .viewer, password: minji.password)
    let changed = User(
      name: "minji", role: .operator, password: try PasswordHash(of: "other", cost: .small))
    for other in [vera, changed] { #expect(DeviceCookie.device(cookie, of: other) == nil) }
    for other in [
      nil, "", ".", "\(device).", "\(cookie).", "x\(cookie)", String(repeating: "x", count: 9999),
    ] {
      #expect(DeviceCookie.device(other, of: minji) == nil)
    }
  }

  @Test(arguments: [
    ("192.0.2.1", "192.0.2.1"), ("::ffff:192.0.2.1", "192.0.2.1"),
    ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::9"), ("unknown", "unknown"),
  ])
  func whoHasANetworkIsOne(address: String, same: String) {
    #expect(AddressBlock(address) == AddressBlock(same))
    for other in ["192.0.2.2", "2001:db8:1:3::9", "::1", ""] {
      #expect(AddressBlock(address) != AddressBlock(other))
    }
  }

  @Test func passwordsAreHashedBesideTheThreadsForPages() async throws {
    // More queues than there are threads in the concurrency pool.
    let queues = (0...ProcessInfo.processInfo.activeProcessorCount).map { number in
      PasswordQueue(label: "\(number)")
    }
    let page = DispatchSemaphore(value: 0)
    try await withThrowingTaskGroup { group in
      for queue in queues {
        group.addTask {
          let outcome = try await queue.run { page.wait(timeout: .now() + 60) }
          #expect(outcome == .success)
        }
      }
      group.addTask {
        for _ in queues { page.signal() }
      }
      try await group.waitForAll()
    }
  }

  @Test func onlySoManyPasswordsWait() async throws {
    let (queue, isOver) = (PasswordQueue(label: "test"), DispatchSemaphore(value: 0))
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0...PasswordQueue.limit {
        group.addTask { (try? await queue.run { isOver.wait(timeout: .now() + 60) }) == nil }
      }
      #expect(await group.next() == true, "one too many, and the only one that is answered yet")
      for _ in 0..<PasswordQueue.limit { isOver.signal() }
      for await isRefused in group { #expect(!isRefused) }
    }
    #expect(try await queue.run { 7 } == 7)
  }

  @Test(arguments: [
    ("/", "/"), ("/kiosks/k1", "/kiosks/k1"), ("/?q=a%26b", "/?q=a%26b"), ("", "/"),
    ("//evil.example", "/"), ("%2F%2Fevil.example", "/"), ("https://evil.example", "/"),
    ("/\\evil.example", "/"), ("/\r\nSet-Cookie: a=b", "/"), ("kiosks", "/"),
  ])
  func nobodyIsSentElsewhere(link: String, place: String) {
    #expect(DashboardServer.redirectTarget(link) == place)
  }

  @Test func aNewPasswordChangesNothingElse() async throws {
    try await withUserFile { users in
      let (old, new) = (
        try PasswordHash(of: "strawberries", cost: .small),
        try PasswordHash(of: "pineapples", cost: .small)
      )
      #expect(try users.change("jun", password: old).after == nil)
      #expect(try users.users().isEmpty)
      let jun = try users.change(
        "jun", password: old, role: .operator, regions: ["Seoul"], addingNew: true)
      #expect(jun.before == nil && jun.after?.role == .operator && jun.after?.regions == ["Seoul"])
      #expect(try users.change("jun", password: new, addingNew: true).before == jun.after)
      let changed = try users.users()["jun"]
      #expect(changed == User(name: "jun", role: .operator, password: new, regions: ["Seoul"]))
      #expect(try users.change("jun", role: .viewer, regions: []).after?.regions == [])
      #expect(
        try users.users() == ["jun": User(name: "jun", role: .viewer, password: new)])
      #expect(try users.change("ben", password: old, addingNew: true).after?.role == .viewer)
    }
  }
}
