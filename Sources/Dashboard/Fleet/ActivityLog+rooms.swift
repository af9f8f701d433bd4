import JuiceDomain
import KioskProtocol

extension ActivityLog {
  /// A group of records that have their own limits, so that one group cannot displace another.
  enum Room: Hashable {
    /// Logins of a user, and attempts with this name.
    case logins(String)
    /// Changes of a user's own password, sessions and messages.
    case account(String)
    /// Routes that a user has planned, changed or deleted.
    case routes(String)
    /// Changes of settings and of the links of screens, by a user.
    case changes(String)
    /// Payments and decisions about charges at a kiosk.
    case money(KioskID)
    /// All else of a kiosk, or of the dashboard.
    case events(KioskID?)

    /// Returns the room of a record, or `nil` for a change of rights, which has no limit.
    init?(_ record: Record) {
      switch record.event {
      case .action(let action):
        // guard: a change of rights is always recorded
        if action.isAboutUsers { return nil }
        if action.isLogin {
          self = .logins(action.user)
        } else if action.isAboutOwnAccount {
          self = .account(action.user)
        } else if action.isAboutRoute {
          self = .routes(action.user)
        } else {
          self = .changes(action.user)
        }
      case .entry(let kiosk, _) where record.kind == .payments: self = .money(kiosk)
      default: self = .events(record.kiosk)
      }
    }

    /// Maximum numbers of records of a day, of all users or kiosks and of one, and the size of a record
    /// in bytes up to which they are possible. Longer records are fewer: all of them have 15 MB.
    var limits: (all: Int, one: Int, size: Int) {
      switch self {
      case .logins, .account: (2_000, 200, 250)
      // A change at all kiosks of a chain is a record of each.
      case .changes: (2_000, 1_000, 2_500)
      case .routes: (10_000, 500, 200)
      case .money: (10_000, 500, 300)
      case .events: (10_000, 500, 400)
      }
    }

    fileprivate var group: Int {
      switch self {
      case .logins: 0
      case .account: 1
      case .routes: 2
      case .money: 3
      case .events: 4
      case .changes: 5
      }
    }
  }

  /// The sizes of the records in each room, in bytes.
  struct Counts: Equatable {
    private var all: [Int: Int] = [:]
    private var one: [Room: Int] = [:]

    /// Counts a record.
    ///
    /// - Returns: `false` if its room is full.
    mutating func add(_ record: Record) -> Bool {
      guard let room = Room(record) else { return true }
      let isOfKiosk = room != .events(nil)
      let limits = room.limits
      let size = max(limits.size, Line.record(record).payload.count)
      guard all[room.group, default: 0] + size <= limits.all * limits.size,
        !isOfKiosk || one[room, default: 0] + size <= limits.one * limits.size
      else { return false }
      all[room.group, default: 0] += size
      one[room, default: 0] += size
      return true
    }
  }
}
