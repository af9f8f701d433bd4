package import JuiceDomain
package import KioskProtocol

extension ActivityLog {
  package struct Record: Hashable, Sendable {
    package enum Event: Hashable, Sendable {
      /// An alert that has ended, or that is still active if `until` is `nil`.
      case alert(Alert, Details, until: Timestamp?)
      /// The dashboard did not run, so it recorded nothing.
      case stopped(until: Timestamp)
      case entry(KioskID, LedgerEntry)
      case action(Action)
    }

    /// The time at which the event began or occurred.
    package let at: Timestamp
    package let event: Event

    package init(at: Timestamp, _ event: Event) { (self.at, self.event) = (at, event) }

    /// The kiosk, or `nil` if the record is about the dashboard.
    package var kiosk: KioskID? {
      switch event {
      case .alert(let alert, _, _): alert.kiosk
      case .stopped: nil
      case .entry(let kiosk, _): kiosk
      case .action(let action): action.kiosk
      }
    }

    package var kind: Kind {
      switch event {
      case .alert(let alert, _, _):
        switch alert.problem?.group {
        case .machines: .machines
        case .payments: .payments
        case .sales, .stock: .stockouts
        case .sensors, .dates: .safety
        case .offline, nil: .outages
        }
      case .stopped: .outages
      case .entry(_, let entry):
        switch entry.outcome {
        case .restocked: .restocks
        // An order that was not paid is no trouble of the machine.
        case .failed(_, let reason, _), .returned(_, let reason, _):
          PaymentEnd(rawValue: reason) == nil ? .machines : .payments
        case .decided: .machines
        case .expired, .removed, .program, .sensor: .safety
        case .payment, .total: .payments
        default: .service
        }
      case .action: .actions
      }
    }

    /// The time at which the event ended or occurred, or `nil` if it has not ended.
    package var end: Timestamp? {
      switch event {
      case .alert(_, _, let until): until
      case .stopped(let until): until
      case .entry, .action: at
      }
    }
  }

  package enum Kind: String, CaseIterable, Sendable {
    case outages, machines, payments, stockouts, safety, service, restocks
    /// Actions of users that are not entries of a ledger.
    case actions
  }

  /// An action of a user that is not an entry of a ledger.
  package struct Action: Hashable, Sendable {
    package enum Verb: String, Sendable {
      case loggedIn = "logged_in"
      /// A wrong name or password; the `user` is the name as entered.
      case failedLogin = "failed_login"
      case addedUser = "added_user"
      case changedRole = "changed_role"
      case changedRegions = "changed_regions"
      case removedUser = "removed_user"
      case madeLink = "made_link"
      case setPassword = "set_password"
      case endedSession = "ended_session"
      case changedMessages = "changed_messages"
      case changedSettings = "changed_settings"
      case plannedRoute = "planned_route"
      case changedRoute = "changed_route"
      case deletedRoute = "deleted_route"
      case madeWallLink = "made_wall_link"
      case revokedWallLink = "revoked_wall_link"
      case madeTabletLink = "made_tablet_link"
      case revokedTabletLink = "revoked_tablet_link"
    }

    package let user: String
    package let verb: Verb
    /// The other user whom the action is about, or `nil` if it is about a kiosk or the user's own
    /// account.
    package var subject: String?
    package var kiosk: KioskID?
    /// The new role or regions, the address of the browser, `link` for a password that was set with a link, the
    /// changed settings with their old values, the address of messages, or the name and the stops of a route.
    package var detail: String?
    /// The `detail` in Korean, or `nil` if it is the same, or in a record of an earlier version.
    package var koreanDetail: String?
    /// The command that brings back the settings that the action has replaced, or `nil` if there is none, or if it
    /// would be longer than `maximumUndo`.
    package private(set) var undo: SettingsCommand?

    /// Maximum length of `undo` in a record, in bytes.
    static let maximumUndo = 2_048

    /// Whether the action changes nothing: a login or an attempt.
    package var isLogin: Bool { verb == .loggedIn || verb == .failedLogin }

    /// Whether the action changes only the user's own password, sessions or messages.
    var isAboutOwnAccount: Bool {
      subject == nil && [.setPassword, .endedSession, .changedMessages].contains(verb)
    }

    /// Whether the action changes who has access, or the account of another user.
    var isAboutUsers: Bool {
      subject != nil
        || [.addedUser, .changedRole, .changedRegions, .removedUser, .madeLink].contains(verb)
    }

    var isAboutRoute: Bool { [.plannedRoute, .changedRoute, .deletedRoute].contains(verb) }

    package init(
      _ user: String, _ verb: Verb, subject: String? = nil, kiosk: KioskID? = nil,
      detail: String? = nil
    ) {
      (self.user, self.verb, self.subject) = (user, verb, subject)
      (self.kiosk, self.detail) = (kiosk, detail)
    }

    /// Sets `undo`, unless it is too long.
    package mutating func set(undo: SettingsCommand) {
      let payload = JSONWriter.object { $0.members(undo) }
      self.undo = payload.count <= Self.maximumUndo ? undo : nil
    }
  }

  /// The circumstances of an alert.
  package struct Details: Hashable, Sendable {
    /// The sentence about the problem when it began, or `nil` if its title says all.
    package var text: LocalizedName?
    /// Whether the alert may have begun before the time of the record, because the kiosk was
    /// offline, or the dashboard not connected.
    package var isEarlier = false
    /// The start, by the kiosk's clock, of the program that ran when the alert `offline` began, or `nil` if
    /// it is unknown whether that program kept running.
    package var startedAt: Timestamp?
    /// The time at which the program started during the alert `offline`, or `nil` if it did not.
    package var restartedAt: Timestamp?

    package init(
      text: LocalizedName? = nil, startedAt: Timestamp? = nil, restartedAt: Timestamp? = nil
    ) {
      (self.text, self.startedAt, self.restartedAt) = (text, startedAt, restartedAt)
    }

    /// Maximum length of a sentence, in Unicode scalars.
    static let maximumText = 120
  }
}
