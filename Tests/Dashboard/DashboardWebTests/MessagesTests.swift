import CommandLineSupport
import Fleet
import Foundation
import JuiceDomain
import KioskProtocol
import Synchronization
import Testing

@testable import DashboardWeb

/// The messages that users choose.
@Suite struct MessagesTests {
  private static func choice(
    _ kinds: Set<MessageChoice.Kind> = Set(MessageChoice.Kind.allCases),
    kiosks: Set<KioskID>? = nil, quiet: (String, String)? = nil, in timeZone: String? = nil
  ) -> MessageChoice {
    MessageChoice(
      address: "me@example.com", kinds: kinds, kiosks: kiosks,
      quietHours: quiet.flatMap { MessageChoice.QuietHours(from: $0, to: $1) },
      language: .english, timeZone: timeZone)
  }

  /// Collects the texts that each address receives.
  private final class Mailbox: Sendable {
    let texts = Mutex<[String: [String]]>([:])
    let (changes, change) = AsyncStream<Void>.makeStream(bufferingPolicy: .unbounded)

    var setup: UserMessages.Setup {
      UserMessages.Setup(
        baseURL: "http://x",
        rules: AlertEvaluator.Rules(offlineDelay: .zero, quietPeriod: .milliseconds(20))
      ) { address in
        Notifier.Receiver("mail to \(address)") { [self] notification in
          texts.withLock { $0[address, default: []].append(notification.text) }
          change.yield()
          return .delivered
        }
      }
    }

    func received(_ address: String, _ text: String) -> Bool {
      texts.withLock { $0[address]?.contains { $0.contains(text) } ?? false }
    }

    /// Waits until an address has received a text.
    func wait(for address: String, _ text: String) async {
      if received(address, text) { return }
      for await _ in changes where received(address, text) { return }
    }
  }

  @Test func eachUserGetsTheChosenMessages() async throws {
    try await Scene.run { scene in
      let (mailbox, messages) = (Mailbox(), scene.dashboard.messages)
      for (kiosk, region) in [("k1", "North"), ("k2", "South")] as [(KioskID, String)] {
        let info = KioskInfo(version: "1", startedAt: scene.now, region: region)
        try await scene.kiosk("info", info.payload, of: kiosk)
        try await scene.kiosk("status", Array("online".utf8), of: kiosk)
      }
      let vera = try User.test("vera", .viewer)
      try scene.dashboard.users.update { users in
        for (name, regions) in [("rita", ["South"]), ("quin", []), ("sam", []), ("sora", [])]
          as [(User.Name, [String])]
        {
          users[name] = User(
            name: name, role: .viewer, password: vera.password, regions: regions)
        }
        users["dan"] = User(name: "dan", role: .driver, password: vera.password)
      }
      await messages.use(mailbox.setup)
      let choices: [(User.Name, MessageChoice)] = [
        ("minji", Self.choice()), ("vera", Self.choice([.offline], kiosks: ["k2"])),
        ("rita", Self.choice()), ("quin", Self.choice(quiet: ("08:30", "09:30"))),
        ("sam", Self.choice([.stock])), ("dan", Self.choice()),
        // It is 18:00 in Seoul, and no kiosk has published a time zone.
        ("sora", Self.choice(quiet: ("17:30", "18:30"), in: "Asia/Seoul")),
      ]
      for (user, choice) in choices {
        var choice = choice
        choice.address = "\(user)@example.com"
        #expect(try await messages.set(choice, of: user))
      }
      await messages.update()
      for kiosk in ["k1", "k2"] as [KioskID] {
        try await scene.kiosk("status", Array("offline".utf8), of: kiosk)
      }
      await mailbox.wait(for: "minji@example.com", "k1: offline")
      await mailbox.wait(for: "minji@example.com", "k2: offline")
      for user in ["vera", "rita"] {
        await mailbox.wait(for: "\(user)@example.com", "k2: offline")
      }
      // A second round of messages: the others would have got the first one before.
      try await scene.kiosk("status", Array("online".utf8), of: "k2")
      await mailbox.wait(for: "minji@example.com", "k2: online again")
      let texts = mailbox.texts.withLock(\.self)
      #expect(
        !mailbox.received("vera@example.com", "k1") && !mailbox.received("rita@example.com", "k1"))
      #expect(Set(texts.keys) == ["minji@example.com", "vera@example.com", "rita@example.com"])
      // Each user sees the own messages, an administrator all.
      try await scene.authenticate("vera")
      let page = try await scene.get("/account/messages").text
      #expect(page.contains("k2: offline") && !page.contains("k1: offline"))
      let ada = try User.test("ada", .admin)
      try scene.dashboard.users.update { $0[ada.name] = ada }
      try await scene.authenticate("ada")
      let all = try await scene.get("/users/messages").text
      #expect(all.contains("minji · mail to minji@example.com") && all.contains("rita · mail"))
      // A user who is removed gets nothing.
      try scene.dashboard.users.update { $0["minji"] = nil }
      await messages.update()
      // A later user of the same name has to choose again.
      #expect(await messages.choice(of: "minji") == nil)
      #expect(await messages.choice(of: "vera") != nil)
      #expect(Set(await scene.dashboard.sent.all.map(\.user)) == ["vera", "rita"])
      // Also one who is removed while the dashboard does not run.
      for (user, _) in choices { #expect(try await messages.set(nil, of: user)) }
      await messages.update()
      let folder = StateFolder(path: scene.dashboard.settings.stateFolder)
      let alerts = Notifier.file(in: folder, of: "vera")
      try alerts.write(Array("{}".utf8))
      try scene.dashboard.users.update { $0["vera"] = nil }
      let restarted = scene.restarted().dashboard
      await restarted.messages.update()
      #expect(try alerts.read() == nil)
      #expect(Set(await restarted.sent.all.map(\.user)) == ["rita"])
    }
  }

  @Test func whileTheDiskFailsNothingIsSentAgain() async throws {
    try await Scene.run { scene in
      let (mailbox, messages) = (Mailbox(), scene.dashboard.messages)
      for kiosk in ["k1", "k2"] as [KioskID] {
        try await scene.kiosk("status", Array("online".utf8), of: kiosk)
      }
      #expect(try await messages.set(Self.choice(), of: "minji"))
      let folder = StateFolder(path: scene.dashboard.settings.stateFolder)
      try FileManager.default.createDirectory(
        atPath: Notifier.file(in: folder, of: "minji").copyPath + ".new/x",
        withIntermediateDirectories: true)
      await messages.use(mailbox.setup)
      await messages.update()
      try await scene.kiosk("status", Array("offline".utf8))
      await mailbox.wait(for: "me@example.com", "k1: offline")
      await messages.use(mailbox.setup)
      await messages.update()
      try await scene.kiosk("status", Array("offline".utf8), of: "k2")
      await mailbox.wait(for: "me@example.com", "k2: offline")
      let texts = mailbox.texts.withLock { $0["me@example.com"] ?? [] }
      #expect(texts.count { $0.contains("k1: offline") } == 1)
    }
  }

  /// The old notifier ends only when its message is sent; meanwhile the setup changes again.
  @Test func theLatestMailServerIsUsed() async throws {
    try await Scene.run { scene in
      let messages = scene.dashboard.messages
      let (steps, step) = AsyncStream.makeStream(of: Void.self)
      let (releases, release) = AsyncStream.makeStream(of: Void.self)
      let (used, use) = AsyncStream.makeStream(of: String.self)
      func setup(
        send: @escaping @Sendable () async -> Void
      ) -> UserMessages.Setup {
        UserMessages.Setup(
          baseURL: "http://x",
          rules: AlertEvaluator.Rules(offlineDelay: .zero, quietPeriod: .milliseconds(20))
        ) { address in
          Notifier.Receiver("mail to \(address)") { _ in
            await send()
            return .delivered
          }
        }
      }
      let slow = setup {
        await withTaskCancellationHandler {
          step.yield()
          await Task { for await _ in releases {} }.value
        } onCancel: {
          step.yield()
        }
      }
      try await scene.kiosk("status", Array("online".utf8))
      await messages.use(slow)
      #expect(try await messages.set(Self.choice(), of: "minji"))
      await messages.update()
      try await scene.kiosk("status", Array("offline".utf8))
      var seen = steps.makeAsyncIterator()
      await seen.next()
      await messages.use(setup { use.yield("second") })
      let update = Task { await messages.update() }
      await seen.next()
      await messages.use(setup { use.yield("third") })
      release.finish()
      await update.value
      try await scene.kiosk("status", Array("online".utf8))
      #expect(await used.first { _ in true } == "third")
    }
  }

  @Test(arguments: [
    ("22:00", "07:00", "23:15", true), ("22:00", "07:00", "22:00", true),
    ("22:00", "07:00", "07:00", false), ("22:00", "07:00", "12:00", false),
    ("12:00", "13:30", "13:29", true), ("12:00", "13:30", "11:59", false),
  ])
  func quietHoursCanContainMidnight(from: String, to: String, time: String, isQuiet: Bool) throws {
    #expect(try #require(MessageChoice.QuietHours(from: from, to: to)).contains(time) == isQuiet)
  }

  @Test(arguments: [("24:00", "07:00"), ("7:00", "08:00"), ("07:00", "07:00"), ("", "07:00")])
  func someHoursAreNone(from: String, to: String) {
    #expect(MessageChoice.QuietHours(from: from, to: to) == nil)
  }

  @Test func aUserChoosesMessages() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("vera")
      let messages = scene.dashboard.messages
      #expect(try await scene.get("/account/messages").text.contains("needs notify.email"))
      await messages.use(Mailbox().setup)
      func post(_ body: String) async throws -> String {
        try await scene.post("/account/messages", "csrf_token=\(scene.csrfToken)&\(body)").text
      }
      let good = "do=save&address=vera%40example.com&kind.offline=1&kind.dates=1"
      for (body, text) in [
        (good.replacing("%40", with: ""), "Write the address like"),
        (good + "&from=22:00", "quiet hours, and different ones"),
        (good + "&from=22:00&to=22:00", "quiet hours, and different ones"),
        ("do=save&address=vera%40example.com", "at least one kind"),
        // A kiosk that does not exist, such as one of another region.
        (good + "&kiosks=some&kiosk.k9=1", "at least one kind and one kiosk"),
      ] {
        #expect(try await post(body).contains(text), "\(body)")
      }
      #expect(await messages.choice(of: "vera") == nil)
      let saved = try await post(good + "&from=22:00&to=07:00&kiosks=some&kiosk.k1=1&kiosk.k9=1")
      #expect(saved.contains("Saved: you get what is wrong now"))
      var expected = Self.choice([.offline, .dates], kiosks: ["k1"], quiet: ("22:00", "07:00"))
      expected.address = "vera@example.com"
      #expect(await messages.choice(of: "vera") == expected)
      let restarted = scene.restarted().dashboard.messages
      #expect(await restarted.choice(of: "vera") == expected)
      let page = try await scene.get("/account/messages").text
      #expect(
        page.contains("value=\"22:00\"") && page.contains("name=\"kiosk.k1\" value=\"1\" checked"))
      // A chosen kiosk that the fleet does not contain now stays chosen.
      expected.kiosks = ["k1", "k7"]
      #expect(try await messages.set(expected, of: "vera"))
      let other = try await scene.get("/account/messages").text
      #expect(other.contains("name=\"kiosk.k7\" value=\"1\" checked> k7"))
      _ = try await post(good + "&from=22:00&to=07:00&kiosks=some&kiosk.k7=1&kiosk.k9=1")
      expected.kiosks = ["k7"]
      #expect(await messages.choice(of: "vera") == expected)
      // The time zone of the kiosks is stored with the quiet hours.
      let sales = SalesReport(
        at: scene.now, timeZone: "Asia/Seoul", today: CivilDate(daysSinceEpoch: 20_778))
      try await scene.kiosk("sales", sales.payload)
      _ = try await post(good + "&from=22:00&to=07:00&kiosks=some&kiosk.k7=1")
      expected.timeZone = "Asia/Seoul"
      #expect(await scene.restarted().dashboard.messages.choice(of: "vera") == expected)
      // It is 18:00 there.
      let quiet = try await post(good + "&from=17:30&to=18:30")
      #expect(quiet.contains("Saved: what is still wrong after the quiet hours is sent then."))
      #expect(try await post("do=stop").contains("no messages any more"))
      #expect(await messages.choice(of: "vera") == nil)
    }
  }
}
