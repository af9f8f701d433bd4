import Hummingbird

/// A file that pages refer to, compiled into the program. Except for `worker`, its path contains a
/// hash of its content, so browsers may cache it for a year.
struct Asset: Sendable {
  let path: String
  let type: String
  let bytes: [UInt8]

  static let stylesheet = Asset("style.css", "text/css; charset=utf-8", PackageResources.style_css)
  static let script = Asset(
    "script.js", "text/javascript; charset=utf-8", PackageResources.script_js)
  static let routesScript = Asset(
    "routes.js", "text/javascript; charset=utf-8", PackageResources.routes_js)
  /// The style sheet and the script of the pages for customers, which run in old browsers.
  static let screenStylesheet = Asset(
    "screen.css", "text/css; charset=utf-8", PackageResources.screen_css)
  static let screenScript = Asset(
    "screen.js", "text/javascript; charset=utf-8", PackageResources.screen_js)
  static let icon = Asset("icon.svg", "image/svg+xml", PackageResources.icon_svg)

  static let all = [
    stylesheet, script, routesScript, screenStylesheet, screenScript, icon,
  ]

  /// The service worker. Its path determines its scope and therefore never changes; browsers
  /// revalidate it.
  static let worker = Asset(
    path: "/worker.js", type: "text/javascript; charset=utf-8", bytes: PackageResources.worker_js,
    caching: "no-cache")

  private var caching = "public, max-age=31536000, immutable"

  private init(_ name: String, _ type: String, _ bytes: [UInt8]) {
    path =
      "/assets/\(HMACSigner(key: []).signature(for: String(decoding: bytes, as: UTF8.self)))/\(name)"
    self.type = type
    self.bytes = bytes
  }

  private init(path: String, type: String, bytes: [UInt8], caching: String) {
    (self.path, self.type, self.bytes, self.caching) = (path, type, bytes, caching)
  }

  var response: Response {
    Response(
      status: .ok,
      headers: [.contentType: type, .cacheControl: caching],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
  }
}
