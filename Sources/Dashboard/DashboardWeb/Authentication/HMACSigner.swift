import CLibcrypto
import Foundation

/// Codes for cookies and forms that nobody can make without the key: HMAC with SHA-256 (RFC 2104).
struct HMACSigner: Sendable {
  private let key: [UInt8]

  /// With a random key.
  init() { key = Self.random() }

  init(key: [UInt8]) { self.key = key }

  func signature(for text: String) -> String {
    let text = Array(text.utf8)
    var signature = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    guard HMAC(EVP_sha256(), key, Int32(key.count), text, text.count, &signature, nil) != nil else {
      // There is no memory left: this signature matches no text.
      return Self.makeToken()
    }
    return Self.base64URL(signature)
  }

  /// The time that it takes tells nothing about how much of the signature is right.
  func isValid(_ signature: String, for text: String) -> Bool {
    let right = self.signature(for: text)
    return signature.utf8.count == right.utf8.count
      && CRYPTO_memcmp(signature, right, right.utf8.count) == 0
  }

  /// A token that nobody can guess: 256 bits.
  static func makeToken() -> String { base64URL(random()) }

  private static func random() -> [UInt8] { (0..<32).map { _ in UInt8.random(in: .min ... .max) } }

  /// Base64 that a cookie and a form take as it is (RFC 4648, 5, without padding).
  private static func base64URL(_ bytes: [UInt8]) -> String {
    Data(bytes).base64EncodedString().filter { $0 != "=" }
      .replacing("+", with: "-").replacing("/", with: "_")
  }
}
