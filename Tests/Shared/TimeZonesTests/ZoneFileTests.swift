import Foundation
import KioskProtocol
import Testing

@testable import TimeZones

/// The system's time zone database, as other programs read it.
@Suite struct ZoneFileTests {
  /// zdump is the reader of the database's authors. Tests 30 time zones drawn by KIOSK_SEED, or all with
  /// KIOSK_ZONES=all, which takes 20 seconds.
  @Test func everyTimeZoneChangesItsClockWhenZdumpSaysSo() throws {
    var contents: Set<Data> = []
    let all = WallClock.names.sorted().compactMap { WallClock($0) }.filter { clock in
      // Many names are links to others.
      let file = FileManager.default.contents(atPath: "\(ZoneFile.folder)/\(clock.name)")
      return file.map { contents.insert($0).inserted } ?? false
    }
    #expect(all.count > 300)
    let environment = ProcessInfo.processInfo.environment
    let seed = environment["KIOSK_SEED"].flatMap(UInt64.init) ?? .random(in: 0...UInt64.max)
    print("KIOSK_SEED=\(seed)")
    // The multiplier is Knuth's, for MMIX.
    var state = seed
    let drawn = Set(
      (0..<30).map { _ in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return all[Int(state >> 33) % all.count].name
      })
    let clocks = environment["KIOSK_ZONES"] == "all" ? all : all.filter { drawn.contains($0.name) }
    let byName = Dictionary(uniqueKeysWithValues: clocks.map { ($0.name, $0) })
    let lines = try run("zdump", ["-v", "-c", "1970,2100"] + clocks.map(\.name))
      .split(separator: "\n")
    var (checked, last): (Int, Line?) = (0, nil)
    for line in lines.lazy.compactMap(Line.init) where line.years.allSatisfy((1970..<2100).contains)
    {
      let clock = try #require(byName[line.name])
      try line.check(clock)
      // No clock changes between two lines.
      if let last, last.name == line.name {
        let middle = Timestamp(
          milliseconds: (last.time.milliseconds + line.time.milliseconds) / 2000 * 1000)
        let offset = clock.local(middle).since(middle)
        try #require([last.offset, line.offset].contains(offset), "\(line.name) at \(middle)")
      }
      (checked, last) = (checked + 1, line)
    }
    #expect(checked >= clocks.count)
  }

  /// Four time zones whose clocks stay as they are since 2026, with what was known in 2025, too.
  @Test func rulesThatChangeApplyWithoutANewProgram() throws {
    let folder = try TemporaryZones()
    for (name, time, before, after) in [
      ("America/Vancouver", "2026-12-01T12:00:00Z", -8, -7),
      ("America/Edmonton", "2026-12-01T12:00:00Z", -7, -6),
      ("America/Winnipeg", "2027-01-15T12:00:00Z", -6, -5),
      ("Africa/Casablanca", "2026-10-01T12:00:00Z", 1, 0),
    ] {
      try folder.compile("old")
      let time = try #require(Timestamp(time))
      let path = "\(folder.path)/\(name)"
      let file = try #require(ZoneFile.at(path))
      let clock = WallClock(name: name, file: file)
      func offset() -> Duration { clock.local(time).since(time) }
      #expect(offset() == .seconds(before * 3600), "\(name)")
      WallClock.refresh()
      #expect(offset() == .seconds(before * 3600), "\(name)")
      try folder.compile("new")
      WallClock.refresh()
      #expect(offset() == .seconds(after * 3600), "\(name)")
      // A clock that is made later has the new rules, too.
      #expect(ZoneFile.at(path)?.offset(at: time.milliseconds / 1000) == Int64(after * 3600))
      // A damaged or missing file changes nothing.
      for damage in [Data(), Data("TZif2".utf8), nil] {
        try folder.replace(name, with: damage)
        WallClock.refresh()
        #expect(offset() == .seconds(after * 3600), "\(name)")
      }
      try folder.compile("old")
      WallClock.refresh()
      #expect(offset() == .seconds(before * 3600), "\(name)")
    }
  }

  @Test(arguments: [
    "", "/", ".", "..", "../../../etc/localtime", "/etc/localtime", "Asia", "Asia/", "/Asia/Seoul",
    "Asia//Seoul", "Asia/./Seoul", "Asia/Seoul\0", "asia/seoul", "Mars/Phobos", "tzdata.zi",
    "zone.tab", "right/Asia/Seoul", "file:/etc/localtime", "Fixed/UTC+09:00:00", "KST-9",
    "GMT+9:00",
    "localtime\n", "서울", String(repeating: "a", count: 65),
  ])
  func noOtherNameIsATimeZone(name: String) { #expect(WallClock(name) == nil) }

  /// (value of `TZ`, name of the clock)
  @Test(
    arguments: [
      ("Asia/Seoul", "Asia/Seoul"), (":Asia/Seoul", "Asia/Seoul"), ("", "UTC"), (":", "UTC"),
      ("UTC", "UTC"), ("\(ZoneFile.folder)/Asia/Tokyo", nil), (":\(ZoneFile.folder)/zone.tab", nil),
      ("CET-1CEST,M3.5.0,M10.5.0/3", nil), ("UTC0", nil), ("Mars/Phobos", nil), ("/none", nil),
    ] as [(String, String?)])
  func theClockOfTheSystemIsThatOfTZ(variable: String, name: String?) {
    let clock = WallClock.clock(of: variable)
    if variable.hasSuffix("Tokyo") {
      #expect(clock?.local(Timestamp(milliseconds: 0)) == Timestamp(milliseconds: 32_400_000))
    } else {
      #expect(clock?.name == name)
    }
  }

  @Test func utcNeedsNoFile() throws {
    for name in ["UTC", "GMT"] {
      let clock = try #require(WallClock(name))
      #expect(clock.name == name)
      for milliseconds: Int64 in [-62_167_219_200_000, -1, 0, 1, 253_402_300_799_999] {
        let time = Timestamp(milliseconds: milliseconds)
        #expect(clock.local(time) == time && clock.time(showing: time) == time)
      }
    }
  }

  @Test(arguments: [
    // Set forward past the time: the moment of the change. Set back: the first time.
    ("Europe/Berlin", "2026-03-29T02:30:00.250Z", "2026-03-29T01:00:00Z"),
    ("Europe/Berlin", "2026-10-25T02:30:00.250Z", "2026-10-25T00:30:00.250Z"),
    ("Europe/Berlin", "2026-10-25T03:00:00Z", "2026-10-25T02:00:00Z"),
    ("Pacific/Apia", "2011-12-30T12:00:00Z", "2011-12-30T10:00:00Z"),
    ("Asia/Seoul", "0000-01-02T00:00:00Z", "0000-01-01T15:32:08Z"),
    ("Asia/Seoul", "9999-12-31T23:59:59.999Z", "9999-12-31T14:59:59.999Z"),
    ("America/New_York", "2500-07-01T00:00:00Z", "2500-07-01T04:00:00Z"),
  ])
  func aTimeOnTheClockIsItsFirst(zone: String, local: String, time: String) throws {
    let clock = try #require(WallClock(zone))
    #expect(clock.time(showing: try #require(Timestamp(local))).description == time)
  }

  @Test func theExtremesOfTimestampsAreNoError() throws {
    let clock = try #require(WallClock("America/New_York"))
    for milliseconds in [Int64.min / 2, -1, 0, Int64.max / 2] {
      let time = Timestamp(milliseconds: milliseconds)
      #expect(abs(clock.local(time).since(time).components.seconds) < 86_400)
    }
  }
}

/// A line of zdump, such as `Asia/Seoul  Sat Oct  8 15:59:59 1988 UT = Sun Oct  9 01:59:59 1988 KDT isdst=1 gmtoff=36000`.
private struct Line {
  let name: String
  let years: [Int]
  let time, local: Timestamp
  let offset: Duration

  init?(_ line: Substring) {
    let parts = line.split(separator: " ")
    guard parts.count == 16, let time = Self.time(parts[1...5]),
      let local = Self.time(parts[8...12]),
      let offset = Int(parts[15].dropFirst("gmtoff=".count))
    else { return nil }
    (name, self.time, self.local) = (String(parts[0]), time, local)
    (years, self.offset) = ([parts[5], parts[12]].compactMap { Int($0) }, .seconds(offset))
  }

  private static func time(_ parts: ArraySlice<Substring>) -> Timestamp? {
    let months = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    let parts = Array(parts)
    guard let month = months.firstIndex(of: String(parts[1])) else { return nil }
    let digits = { (text: String) in text.count == 1 ? "0" + text : text }
    return Timestamp(
      "\(parts[4])-\(digits("\(month + 1)"))-\(digits(String(parts[2])))T\(parts[3])Z")
  }

  func check(_ clock: WallClock) throws {
    try #require(clock.local(time) == local && local.since(time) == offset, "\(name) at \(time)")
    let first = clock.time(showing: local)
    try #require(first <= time && clock.local(first) == local, "\(name) at \(local)")
  }
}

/// A folder with compiled rules of the time zones in EndToEnd/zones-old.txt or zones-new.txt.
private final class TemporaryZones {
  let path: String

  init() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "zones-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    path = folder.path(percentEncoded: false)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func compile(_ version: String) throws {
    let rules = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "../EndToEnd/zones-\(version).txt")
    _ = try run("zic", ["-d", path, rules.path(percentEncoded: false)])
  }

  func replace(_ name: String, with contents: Data?) throws {
    try FileManager.default.removeItem(atPath: "\(path)/\(name)")
    if let contents { try contents.write(to: URL(filePath: "\(path)/\(name)")) }
  }
}

/// Runs a program of the time zone database, and returns its output.
private func run(_ name: String, _ arguments: [String]) throws -> String {
  let path = try #require(
    ["/usr/bin", "/usr/sbin"].map { "\($0)/\(name)" }.first(
      where: FileManager.default.isExecutableFile))
  let (process, output) = (Process(), Pipe())
  process.executableURL = URL(filePath: path)
  process.arguments = arguments
  process.standardOutput = output
  try process.run()
  let data = try output.fileHandleForReading.readToEnd() ?? Data()
  process.waitUntilExit()
  try #require(process.terminationStatus == 0, "\(name)")
  return String(decoding: data, as: UTF8.self)
}
