import Foundation

/// What the crowd is told: a file in JSON.
struct Roster: Decodable {
  struct Kiosk: Decodable {
    let id: String
    /// Of the brokers up there, in turn: `host:port`.
    let addresses: [String]
    let username: String
    let password: String
  }

  /// Where each has its ledger, `<id>.sqlite`.
  let folder: String
  /// The authority that the brokers up there are trusted for.
  let caFile: String
  /// Of each kiosk.
  let orders: Int
  /// Of all of them in a second.
  let pace: Int
  let seed: UInt64
  let kiosks: [Kiosk]

  init(file: String) throws {
    let data = try Data(contentsOf: URL(filePath: file))
    self = try JSONDecoder().decode(Self.self, from: data)
  }
}
