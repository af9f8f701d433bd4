/// A menu that a chain wants a kiosk to have.
package struct DesiredMenu: Hashable, Sendable {
  /// From 1 on; a later one has a higher number.
  package let version: Int
  /// YAML, with `menu` as in the kiosk's configuration.
  package let text: String

  /// In bytes, of the payload.
  package static let maximumSize = 1 << 16

  package init(version: Int, text: String) {
    self.version = version
    self.text = text
  }

  package var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("version", version)
      json.member("menu", text)
    }
  }

  /// - Throws: `JSONError` if it is none; unknown members are ignored.
  package init(payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    guard let version = json.integer("version"), version >= 1, let text = json.text("menu") else {
      throw JSONError(offset: 0, problem: "version (1 or more) and menu (a text) are required")
    }
    self.init(version: version, text: text)
  }
}

/// What has come of a `DesiredMenu`.
package enum DesiredMenuReport: Hashable, Sendable {
  /// The kiosk sells by it; 0: by the menu of its own configuration.
  case taken(version: Int)
  /// The kiosk is as it was.
  ///
  /// - Parameters:
  ///   - version: `nil` if it could not be read.
  ///   - detail: for a person.
  case refused(version: Int?, detail: String)

  package var payload: [UInt8] {
    JSONWriter.object { json in
      switch self {
      case .taken(let version):
        json.member("version", version)
        json.member("status", "taken")
      case .refused(let version, let detail):
        if let version { json.member("version", version) }
        json.member("status", "refused")
        json.member("detail", detail)
      }
    }
  }

  /// - Throws: `JSONError` if it is no report; unknown members are ignored.
  package init(payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    let version = json.integer("version")
    switch json.text("status") {
    case "taken":
      if let version, version >= 0 {
        self = .taken(version: version)
        return
      }
    case "refused":
      self = .refused(version: version, detail: json.text("detail") ?? "")
      return
    default: break
    }
    throw JSONError(offset: 0, problem: "this does not say what has come of a menu")
  }
}
