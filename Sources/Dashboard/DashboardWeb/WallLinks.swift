import CommandLineSupport
import Fleet
import JuiceDomain
import KioskProtocol
import Logging

/// The secret links that show the display of a kiosk without a login, at most one for each kiosk. A
/// link shows only the display, and is valid until a user revokes or replaces it.
actor WallLinks {
  private let file: StateFile<[KioskID: String]>
  private let logger: Logger
  private var tokens: [KioskID: String]?
  private nonisolated let executor = DiskExecutor(label: "walls")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  init(folder: StateFolder, logger: Logger) {
    (file, self.logger) = (Self.file(in: folder), logger)
  }

  /// The file of the links.
  static func file(in folder: StateFolder) -> StateFile<[KioskID: String]> {
    StateFile(
      // The limit is enough for a link for each of 10,000 kiosks.
      folder.path(of: "walls.json"), upTo: 2 << 20, makesFolder: true,
      withoutCopy: "create the links of the screens again",
      encode: { tokens in
        JSONWriter.object { json in
          json.member("walls", tokens.sorted { $0.key < $1.key }) { json, link in
            json.member("kiosk", link.key.text)
            json.member("token", link.value)
          }
        }
      },
      decode: { payload in
        guard let links = try JSON.parse(payload).elements("walls") else {
          throw JSONError("'walls' is missing")
        }
        return try links.reduce(into: [:]) { tokens, link in
          guard let kiosk = link.text("kiosk").flatMap({ KioskID($0) }),
            let token = link.text("token")
          else { throw JSONError("a link is incomplete") }
          tokens[kiosk] = token
        }
      })
  }

  func token(for kiosk: KioskID) -> String? { loaded()[kiosk] }

  /// Returns the kiosk to which the token belongs, or `nil` if the token is not valid.
  func kiosk(for token: String) -> KioskID? {
    loaded().first { HMACSigner.areEqual($0.value, token) }?.key
  }

  /// Stores a new token for a kiosk, or removes its token if `token` is `nil`. The earlier token is
  /// not valid any more.
  func replace(_ token: String?, for kiosk: KioskID) throws(StateError) {
    var tokens = loaded()
    tokens[kiosk] = token
    try file.write(tokens)
    self.tokens = tokens
  }

  private func loaded() -> [KioskID: String] {
    if let tokens { return tokens }
    let (stored, problem) = file.load()
    if let problem { logger.error("\(problem)") }
    tokens = stored ?? [:]
    return stored ?? [:]
  }
}
