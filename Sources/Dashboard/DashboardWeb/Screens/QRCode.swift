import CQRencode
import JuiceDomain

/// A QR code as a picture, drawn with libqrencode.
struct QRCode {
  /// Maximum length of the text, in bytes: longer codes are hard to read on a screen.
  private static let maximumLength = 500
  /// The white border that a reader needs, in modules (ISO/IEC 18004).
  private static let border = 4

  private let width: Int
  /// The row and the column of each black module.
  private let modules: [(x: Int, y: Int)]

  /// Encodes a text. Returns `nil` if it is too long or there is not enough memory.
  init?(_ text: String) {
    guard text.utf8.count <= Self.maximumLength,
      let code = QRcode_encodeString(text, 0, QR_ECLEVEL_M, QR_MODE_8, 1)
    else { return nil }
    defer { QRcode_free(code) }
    let width = Int(code.pointee.width)
    guard let data = code.pointee.data else { return nil }
    self.width = width
    // The lowest bit of a module is 1 if it is black.
    modules = (0..<width * width).compactMap { index in
      data[index] & 1 == 1 ? (index % width, index / width) : nil
    }
  }

  /// Returns the picture: black on white, also on a dark page, because not all readers read the
  /// inverse.
  ///
  /// - Parameter label: The text for screen readers.
  func html(_ label: String) -> HTML {
    let size = width + 2 * Self.border
    let path = modules.map { "M\($0.x + Self.border) \($0.y + Self.border)h1v1h-1z" }.joined()
    return """
      <svg class="code" viewBox="0 0 \(size) \(size)" role="img" aria-label="\(label)">\
      <path d="M0 0h\(size)v\(size)H0z" fill="#fff"/><path d="\(path)" fill="#000"/></svg>
      """
  }
}
