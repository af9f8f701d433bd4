import CommandLineSupport
import Fleet
import Foundation
import JuiceDomain
import KioskProtocol

/// The secret links that show the display of a kiosk without a login, at most one for each kiosk. A
/// link shows only the display, and is valid until a user revokes or replaces it.
actor WallLinks {
  private static let file = "walls.json"
  /// Maximum size of the file, in bytes: a link for each of 10,000 kiosks.
  private static let maximumSize = 2 << 20

  private let folder: StateFolder
  private var tokens: [KioskID: String]?
  private nonisolated let executor = DiskExecutor(label: "walls")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  init(folder: StateFolder) { self.folder = folder }

  func token(for kiosk: KioskID) throws(StateError) -> String? { try loaded()[kiosk] }

  /// Returns the kiosk to which the token belongs, or `nil` if the token is not valid.
  func kiosk(for token: String) throws(StateError) -> KioskID? {
    try loaded().first { HMACSigner.areEqual($0.value, token) }?.key
  }

  /// Stores a new token for a kiosk, or removes its token if `token` is `nil`. The earlier token is
  /// not valid any more.
  func replace(_ token: String?, for kiosk: KioskID) throws(StateError) {
    var tokens = try loaded()
    tokens[kiosk] = token
    let payload = JSONWriter.object { json in
      json.member("walls", tokens.sorted { $0.key < $1.key }) { json, link in
        json.member("kiosk", link.key.text)
        json.member("token", link.value)
      }
    }
    try folder.write(Self.file, Data(payload))
    self.tokens = tokens
  }

  private func loaded() throws(StateError) -> [KioskID: String] {
    if let tokens { return tokens }
    var found: [KioskID: String] = [:]
    if let data = try folder.read(Self.file, upTo: Self.maximumSize) {
      guard let json = try? JSON.parse(Array(data)), let links = json.elements("walls") else {
        throw StateError(Self.file, "cannot be read: remove it, and create the links again")
      }
      for link in links {
        guard let kiosk = link.text("kiosk").flatMap({ KioskID($0) }),
          let token = link.text("token")
        else { continue }
        found[kiosk] = token
      }
    }
    tokens = found
    return found
  }
}
