import Crypto
import CryptoExtras
import Foundation

/// A password as it may be kept: scrypt with a salt of its own (RFC 7914), in one word:
/// `scrypt:32768:8:3:<salt>:<key>`.
package struct PasswordHash: Sendable, Hashable, CustomStringConvertible {
  /// What one guess takes: 128 * `rounds` * `blockSize` bytes, and time for each of `parallelism`.
  package struct Cost: Sendable, Hashable {
    let rounds: Int
    let blockSize: Int
    let parallelism: Int

    /// About a third of a second and 32 MiB, on purpose: OWASP's setting for scrypt where memory is
    /// scarce (N=2^15, r=8, p=3).
    package static let standard = Self(rounds: 1 << 15, blockSize: 8, parallelism: 3)
  }

  private let cost: Cost
  private let salt: Data
  private let key: Data

  /// In bytes: nobody types more, and hashing more only costs time.
  package static let maximumPassword = 1024

  package init(of password: String, cost: Cost) throws {
    var generator = SystemRandomNumberGenerator()
    let salt = Data((0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    try self.init(password, cost: cost, salt: salt)
  }

  private init(_ password: String, cost: Cost, salt: Data) throws {
    (self.cost, self.salt) = (cost, salt)
    key = try KDF.Scrypt.deriveKey(
      from: Data(password.utf8), salt: salt, outputByteCount: 32, rounds: cost.rounds,
      blockSize: cost.blockSize, parallelism: cost.parallelism
    ).withUnsafeBytes { Data($0) }
  }

  /// Whether it is the password of this hash; the time tells nothing about how much of it is right.
  package func matches(_ password: String) -> Bool {
    guard password.utf8.count <= Self.maximumPassword,
      let other = try? Self(password, cost: cost, salt: salt)
    else { return false }
    // Compares under a key that is drawn anew: equal codes, equal keys.
    let secret = SymmetricKey(size: .bits256)
    return HMAC<SHA256>.isValidAuthenticationCode(
      Data(HMAC<SHA256>.authenticationCode(for: key, using: secret)),
      authenticating: other.key, using: secret)
  }

  package var description: String {
    "scrypt:\(cost.rounds):\(cost.blockSize):\(cost.parallelism):"
      + "\(salt.base64EncodedString()):\(key.base64EncodedString())"
  }

  /// Reads what `description` has written; `nil` for anything else, or for what would take too much
  /// memory or time.
  package init?(_ text: some StringProtocol) {
    let parts = String(text).split(separator: ":", omittingEmptySubsequences: false)
      .map { String($0) }
    guard parts.count == 6, parts[0] == "scrypt", let rounds = Int(parts[1]),
      let blockSize = Int(parts[2]), let parallelism = Int(parts[3]),
      (1 << 10...1 << 20).contains(rounds), rounds.nonzeroBitCount == 1,
      (1...16).contains(blockSize), (1...16).contains(parallelism),
      let salt = Data(base64Encoded: parts[4]), salt.count >= 8,
      let key = Data(base64Encoded: parts[5]), key.count == 32
    else { return nil }
    cost = Cost(rounds: rounds, blockSize: blockSize, parallelism: parallelism)
    (self.salt, self.key) = (salt, key)
  }
}
