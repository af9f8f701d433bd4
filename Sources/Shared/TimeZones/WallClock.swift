import Foundation
package import KioskProtocol

/// A clock on the wall of a time zone: converts timestamps to its hours and days, by the rules of the
/// system's time zone database.
///
/// ```swift
/// let clock = WallClock("Asia/Seoul")
/// clock?.minute(at: Timestamp(milliseconds: 0))  // day 0, minute 540
/// ```
///
/// Hours are counted from 1970-01-01T00 local time, 24 to each day. At the end of daylight saving
/// time the hour that occurs twice has one number; at the beginning one number is skipped.
package struct WallClock: Sendable {
  /// The name of the time zone, such as `Asia/Seoul`.
  package let name: String
  /// `nil` is UTC, which needs no file.
  private let file: ZoneFile?

  package static let utc = WallClock(name: "UTC", file: nil)

  /// The clock of the system: of the time zone in `TZ`, otherwise of /etc/localtime, otherwise of UTC. Is `nil` if
  /// `TZ` is neither a name of the database nor the path of such a file, as `CET-1CEST,M3.5.0,M10.5.0/3`.
  package static var system: WallClock? { clock(of: ProcessInfo.processInfo.environment["TZ"]) }

  /// Returns the clock of the system with a value of `TZ`; see tzset(3).
  static func clock(of variable: String?) -> WallClock? {
    guard let variable else { return at("/etc/localtime") ?? WallClock.utc }
    let name = variable.hasPrefix(":") ? String(variable.dropFirst()) : variable
    if name.isEmpty { return .utc }
    return name.hasPrefix("/") ? at(name) : WallClock(name)
  }

  private static func at(_ path: String) -> WallClock? {
    let parts = URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false)
      .split(separator: "/zoneinfo/", maxSplits: 1)
    return ZoneFile.at(path).map { file in
      WallClock(name: parts.count == 2 ? String(parts[1]) : path, file: file)
    }
  }

  /// Creates the clock of a time zone, or returns `nil` if the system has no file of this name.
  ///
  /// - Parameter name: A name of the database, such as `Asia/Seoul`, or `UTC` or `GMT`. It may come
  ///   from another computer.
  package init?(_ name: String) {
    if name == "UTC" || name == "GMT" {
      self.init(name: name, file: nil)
      return
    }
    guard Self.isName(name), let file = ZoneFile.at("\(ZoneFile.folder)/\(name)") else {
      return nil
    }
    self.init(name: name, file: file)
  }

  init(name: String, file: ZoneFile?) {
    self.name = name
    self.file = file
  }

  /// The names of the system's time zones, in no defined order; empty if it has no database.
  package static var names: [String] {
    (FileManager.default.subpaths(atPath: ZoneFile.folder) ?? []).filter(isName)
  }

  /// Reads again the rules that have changed, in the files of all clocks. Call it once a day or more often, because
  /// the system updates its database while programs run.
  package static func refresh() { ZoneFile.refresh() }

  /// Returns the number of the local hour.
  package func hour(at time: Timestamp) -> Int {
    Int(local(time).milliseconds.flooredQuotient(by: Self.hour).quotient)
  }

  /// Returns the local day, counted from 1970-01-01.
  package func day(at time: Timestamp) -> Int { Self.day(of: hour(at: time)) }

  /// Returns the elapsed fraction of the local hour, from 0 to below 1.
  package func fraction(at time: Timestamp) -> Double {
    Double(local(time).milliseconds.flooredQuotient(by: Self.hour).remainder) / Double(Self.hour)
  }

  /// Returns the local day, counted from 1970-01-01, and the minute of that day, from 0 to 1439.
  package func minute(at time: Timestamp) -> (day: Int, minute: Int) {
    let (day, rest) = local(time).milliseconds.flooredQuotient(by: Self.day)
    return (Int(day), Int(rest / 60_000))
  }

  /// Returns the local day and minute that opening hours have reached. In an hour that is repeated
  /// when clocks are set back, this is the last minute of the first occurrence, so that each opening
  /// and closing occurs once.
  package func reachedMinute(at time: Timestamp) -> (day: Int, minute: Int) {
    let first = self.time(showing: local(time))
    // guard: the hours of a day begin and end once
    guard first < time else { return minute(at: time) }
    func offset(_ time: Int64) -> Int64 {
      local(Timestamp(milliseconds: time)).milliseconds - time
    }
    // The clock is set back after `before` and not after `end`.
    var (before, end) = (first.milliseconds, time.milliseconds)
    while end - before > 1 {
      let middle = before + (end - before) / 2
      if offset(middle) == offset(first.milliseconds) { before = middle } else { end = middle }
    }
    return minute(at: Timestamp(milliseconds: before))
  }

  package static func day(of hour: Int) -> Int { Int(Int64(hour).flooredQuotient(by: 24).quotient) }

  /// Returns the first moment of a local day, which is after midnight if daylight saving time skips
  /// midnight, as in Santiago.
  ///
  /// - Parameter day: The day, counted from 1970-01-01.
  package func start(ofDay day: Int64) -> Timestamp {
    time(showing: Timestamp(milliseconds: day * Self.day))
  }

  /// Returns the day at whose end fruit expires, which is the date on its package, or `nil` if the
  /// fruit expires at another time of a day.
  package func bestBeforeDay(_ expires: Timestamp) -> CivilDate? {
    let day = Int64(day(at: expires))
    return expires == start(ofDay: day) ? CivilDate(daysSinceEpoch: day - 1) : nil
  }

  /// Returns the first moment at which the clock shows a time; if the clock is set forward past that
  /// time, the moment of the change.
  ///
  /// - Parameter local: The time on the clock, as if it were in UTC.
  package func time(showing local: Timestamp) -> Timestamp {
    guard let file else { return local }
    let (seconds, rest) = local.milliseconds.flooredQuotient(by: 1000)
    let time = file.time(showing: seconds)
    // No clock shows the fraction of a second that it skips.
    let isShown = time + file.offset(at: time) == seconds
    return Timestamp(milliseconds: time * 1000 + (isShown ? rest : 0))
  }

  /// Returns the time that the clock shows, as if it were in UTC.
  package func local(_ time: Timestamp) -> Timestamp {
    guard let file else { return time }
    let seconds = time.milliseconds.flooredQuotient(by: 1000).quotient
    return Timestamp(milliseconds: time.milliseconds + file.offset(at: seconds) * 1000)
  }

  private static let hour: Int64 = 3_600_000
  private static let day: Int64 = 86_400_000

  /// Returns whether a text can be the name of a file in the database, and no other path. Times of `right` count
  /// leap seconds, which timestamps do not.
  private static func isName(_ name: String) -> Bool {
    name.utf8.count <= 64 && !name.hasPrefix("right/")
      && name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        .allSatisfy { part in
          !part.isEmpty
            && part.allSatisfy { byte in
              switch Unicode.Scalar(byte) {
              case "A"..."Z", "a"..."z", "0"..."9", "_", "-", "+": true
              default: false
              }
            }
        }
  }
}

extension WallClock: Equatable {
  package static func == (left: Self, right: Self) -> Bool { left.name == right.name }
}
