import CLibcrypto
import Foundation

/// A password hash: scrypt (RFC 7914) with a random salt, as the text
/// `scrypt:32768:8:3:<salt>:<key>`.
package struct PasswordHash: Sendable, Hashable, CustomStringConvertible {
  /// The cost of one check: about 128 * `iterations` * `blockSize` bytes of memory, and a time in
  /// proportion to this memory and to `parallelism`.
  package struct Cost: Sendable, Hashable {
    let iterations: Int
    let blockSize: Int
    let parallelism: Int

    /// About a third of a second and 32 MiB: OWASP's recommendation for scrypt with little memory
    /// (N=2^15, r=8, p=3).
    package static let standard = Self(iterations: 1 << 15, blockSize: 8, parallelism: 3)
  }

  /// Maximum length of a password, in bytes. Hashing longer texts would only cost time.
  package static let maximumPassword = 1024
  /// Minimum length of a new password, in characters.
  package static let minimumPassword = 8
  private static let keySize = 32

  private let cost: Cost
  private let salt: [UInt8]
  private let key: [UInt8]

  private init(cost: Cost, salt: [UInt8], key: [UInt8]) {
    (self.cost, self.salt, self.key) = (cost, salt, key)
  }

  /// Hashes a password with a new salt. A password over `maximumPassword` bytes never matches.
  ///
  /// - Throws: `PasswordHashError` if there is not enough memory.
  package init(of password: String, cost: Cost) throws(PasswordHashError) {
    let salt = Self.random(16)
    self.init(cost: cost, salt: salt, key: try cost.key(of: password, salt: salt))
  }

  /// Returns a hash that matches no password. A check takes as long as for any hash of this cost.
  static func dummy(cost: Cost) -> Self {
    Self(cost: cost, salt: random(16), key: random(keySize))
  }

  private static func random(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: .min ... .max) }
  }

  /// Returns whether the password matches. Compares the keys in constant time.
  ///
  /// - Throws: `PasswordHashError` if there is not enough memory.
  package func matches(_ password: String) throws(PasswordHashError) -> Bool {
    guard password.utf8.count <= Self.maximumPassword else { return false }
    return CRYPTO_memcmp(key, try cost.key(of: password, salt: salt), Self.keySize) == 0
  }

  package var description: String {
    "scrypt:\(cost.iterations):\(cost.blockSize):\(cost.parallelism):"
      + "\(Data(salt).base64EncodedString()):\(Data(key).base64EncodedString())"
  }

  /// Reads a hash that `description` has written. Returns `nil` for any other text, and for a cost
  /// that is too low or too high.
  package init?(_ text: some StringProtocol) {
    let parts = String(text).split(separator: ":", omittingEmptySubsequences: false)
      .map { String($0) }
    guard parts.count == 6, parts[0] == "scrypt", let iterations = Int(parts[1]),
      let blockSize = Int(parts[2]), let parallelism = Int(parts[3]),
      (1 << 10...1 << 20).contains(iterations), iterations.nonzeroBitCount == 1,
      (1...16).contains(blockSize), (1...16).contains(parallelism),
      let salt = Data(base64Encoded: parts[4]), salt.count >= 8,
      let key = Data(base64Encoded: parts[5]), key.count == Self.keySize
    else { return nil }
    let cost = Cost(iterations: iterations, blockSize: blockSize, parallelism: parallelism)
    self.init(cost: cost, salt: Array(salt), key: Array(key))
  }
}

/// The error thrown if a password cannot be hashed.
package struct PasswordHashError: Error, CustomStringConvertible {
  package let description: String
}

extension PasswordHash.Cost {
  fileprivate func key(of password: String, salt: [UInt8]) throws(PasswordHashError) -> [UInt8] {
    // The memory in bytes, as libcrypto computes it. Its default limit of 32 MiB is too low.
    let memory = 128 * blockSize * (iterations + parallelism + 2)
    let password = Array(password.utf8)
    var key = [UInt8](repeating: 0, count: PasswordHash.keySize)
    let isDone = password.withUnsafeBytes { password in
      EVP_PBE_scrypt(
        password.baseAddress, password.count, salt, salt.count, UInt64(iterations),
        UInt64(blockSize),
        UInt64(parallelism), UInt64(memory), &key, key.count)
    }
    guard isDone == 1 else {
      throw PasswordHashError(
        description:
          "hashing a password needs \(memory >> 20) MiB of memory, which is not available")
    }
    return key
  }
}
