import Hummingbird

/// A file that pages refer to. It is in the program, and its path changes with what is in it, so
/// that browsers may keep it for ever.
struct Asset: Sendable {
  let path: String
  let type: String
  let bytes: [UInt8]

  static let stylesheet = Asset("style.css", "text/css; charset=utf-8", PackageResources.style_css)
  static let script = Asset(
    "script.js", "text/javascript; charset=utf-8", PackageResources.script_js)
  static let icon = Asset("icon.svg", "image/svg+xml", PackageResources.icon_svg)

  static let all = [stylesheet, script, icon]

  private init(_ name: String, _ type: String, _ bytes: [UInt8]) {
    path = "/assets/\(Seal(key: []).code(for: String(decoding: bytes, as: UTF8.self)))/\(name)"
    self.type = type
    self.bytes = bytes
  }

  var response: Response {
    Response(
      status: .ok,
      headers: [.contentType: type, .cacheControl: "public, max-age=31536000, immutable"],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
  }
}
