import CLibcrypto
import Foundation

/// Codes for cookies and forms that nobody can make without the key: HMAC with SHA-256 (RFC 2104).
struct Seal: Sendable {
  private let key: [UInt8]

  /// With a random key.
  init() { key = Self.random() }

  init(key: [UInt8]) { self.key = key }

  func code(for text: String) -> String {
    let text = Array(text.utf8)
    var code = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    guard HMAC(EVP_sha256(), key, Int32(key.count), text, text.count, &code, nil) != nil else {
      // There is no memory left: this code matches no text.
      return Self.makeToken()
    }
    return Self.word(code)
  }

  /// The time that it takes tells nothing about how much of the code is right.
  func isValid(_ code: String, for text: String) -> Bool {
    let right = self.code(for: text)
    return code.utf8.count == right.utf8.count && CRYPTO_memcmp(code, right, right.utf8.count) == 0
  }

  /// A token that nobody can guess: 256 bits.
  static func makeToken() -> String { word(random()) }

  private static func random() -> [UInt8] { (0..<32).map { _ in UInt8.random(in: .min ... .max) } }

  /// Base64 that a cookie and a form take as it is (RFC 4648, 5, without padding).
  private static func word(_ bytes: [UInt8]) -> String {
    Data(bytes).base64EncodedString().filter { $0 != "=" }
      .replacing("+", with: "-").replacing("/", with: "_")
  }
}
