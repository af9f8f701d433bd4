import CommandLineSupport
import Fleet
import JuiceDomain
import KioskProtocol
import Logging

/// A page for customers that a secret link shows without a login.
enum Screen: String, CaseIterable, Sendable {
  /// The page for the screen beside the kiosk, without buttons.
  case wall
  /// The buttons of the menu, on a tablet at the kiosk.
  case tablet
}

/// The secret links that show a screen of a kiosk without a login, at most one for each screen of a
/// kiosk. A link shows only its screen, and is valid until a user revokes or replaces it.
actor ScreenLinks {
  struct Key: Hashable, Comparable {
    let kiosk: KioskID
    let screen: Screen

    static func < (left: Self, right: Self) -> Bool {
      (left.kiosk, left.screen.rawValue) < (right.kiosk, right.screen.rawValue)
    }
  }

  private let file: StateFile<[Key: String]>
  private let logger: Logger
  private var tokens: [Key: String]?
  private nonisolated let executor = DiskExecutor(label: "screens")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  init(folder: StateFolder, logger: Logger) {
    (file, self.logger) = (Self.file(in: folder), logger)
  }

  /// The file of the links.
  static func file(in folder: StateFolder) -> StateFile<[Key: String]> {
    StateFile(
      // The limit is enough for two links for each of 10,000 kiosks.
      folder.path(of: "screens.json"), upTo: 4 << 20, makesFolder: true,
      withoutCopy: "create the links of the screens again",
      encode: { tokens in
        JSONWriter.object { json in
          json.member("screens", tokens.sorted { $0.key < $1.key }) { json, link in
            json.member("kiosk", link.key.kiosk.text)
            json.member("screen", link.key.screen.rawValue)
            json.member("token", link.value)
          }
        }
      },
      decode: { payload in
        guard let links = try JSON.parse(payload).elements("screens") else {
          throw JSONError("'screens' is missing")
        }
        return try links.reduce(into: [:]) { tokens, link in
          guard let kiosk = link.text("kiosk").flatMap({ KioskID($0) }),
            let screen = link.text("screen").flatMap(Screen.init(rawValue:)),
            let token = link.text("token")
          else { throw JSONError("a link is incomplete") }
          tokens[Key(kiosk: kiosk, screen: screen)] = token
        }
      })
  }

  /// Returns the tokens of a kiosk's links.
  func tokens(of kiosk: KioskID) -> [Screen: String] {
    let tokens = loaded()
    return Dictionary(
      uniqueKeysWithValues: Screen.allCases.compactMap { screen in
        tokens[Key(kiosk: kiosk, screen: screen)].map { (screen, $0) }
      })
  }

  /// Returns the kiosk to which the token of a screen belongs, or `nil` if the token is not valid.
  func kiosk(for token: String, _ screen: Screen) -> KioskID? {
    // guard: the link of a wall does not order
    loaded().first { $0.key.screen == screen && HMACSigner.areEqual($0.value, token) }?.key.kiosk
  }

  /// Stores a new token for a screen, or removes its token if `token` is `nil`. The earlier token is
  /// not valid any more.
  func replace(_ token: String?, for kiosk: KioskID, _ screen: Screen) throws(StateError) {
    var tokens = loaded()
    tokens[Key(kiosk: kiosk, screen: screen)] = token
    try file.write(tokens)
    self.tokens = tokens
  }

  private func loaded() -> [Key: String] {
    if let tokens { return tokens }
    let (stored, problem) = file.load()
    if let problem { logger.error("\(problem)") }
    tokens = stored ?? [:]
    return stored ?? [:]
  }
}
