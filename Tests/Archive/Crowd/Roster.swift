import Foundation

/// The configuration of the crowd, a file in JSON.
struct Roster: Decodable {
  struct Kiosk: Decodable {
    let id: String
    /// The upstream brokers in the order of use, each as `host:port`.
    let addresses: [String]
    let username: String
    let password: String
  }

  /// The folder with the ledger of each kiosk, `<id>.sqlite`.
  let folder: String
  /// The PEM file of the authority for the upstream brokers.
  let caFile: String
  /// Number of orders per kiosk.
  let orders: Int
  /// Number of orders per second of all kiosks together.
  let pace: Int
  let seed: UInt64
  let kiosks: [Kiosk]

  init(file: String) throws {
    let data = try Data(contentsOf: URL(filePath: file))
    self = try JSONDecoder().decode(Self.self, from: data)
  }
}
