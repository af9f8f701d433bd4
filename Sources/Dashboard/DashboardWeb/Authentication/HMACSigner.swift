import CLibcrypto
import Foundation

/// Signs the values of cookies and forms with HMAC-SHA-256 (RFC 2104).
struct HMACSigner: Sendable {
  private let key: [UInt8]

  /// Creates a signer with a random key.
  init() { key = Self.random() }

  init(key: [UInt8]) { self.key = key }

  func signature(for text: String) -> String {
    let text = Array(text.utf8)
    var signature = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    guard HMAC(EVP_sha256(), key, Int32(key.count), text, text.count, &signature, nil) != nil else {
      // Out of memory: this signature matches no text.
      return Self.makeToken()
    }
    return Self.base64URL(signature)
  }

  /// Checks a signature in constant time.
  func isValid(_ signature: String, for text: String) -> Bool {
    Self.areEqual(signature, self.signature(for: text))
  }

  /// Compares two secrets in a time that depends only on their lengths.
  static func areEqual(_ left: String, _ right: String) -> Bool {
    left.utf8.count == right.utf8.count && CRYPTO_memcmp(left, right, right.utf8.count) == 0
  }

  /// Returns a random token of 256 bits.
  static func makeToken() -> String { base64URL(random()) }

  private static func random() -> [UInt8] { (0..<32).map { _ in UInt8.random(in: .min ... .max) } }

  /// Encodes bytes as base64url without padding (RFC 4648 5), which needs no escaping in cookies
  /// and forms.
  private static func base64URL(_ bytes: [UInt8]) -> String {
    Data(bytes).base64EncodedString().filter { $0 != "=" }
      .replacing("+", with: "-").replacing("/", with: "_")
  }
}
