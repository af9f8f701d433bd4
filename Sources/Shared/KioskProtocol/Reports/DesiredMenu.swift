/// A menu that a chain assigns to a kiosk.
package struct DesiredMenu: Hashable, Sendable {
  /// The version, at least 1; a newer menu has a higher version.
  package let version: Int
  /// The menu as YAML, with the key `menu` as in the kiosk's configuration.
  package let text: String

  /// Maximum size of the payload in bytes.
  package static let maximumSize = 1 << 16

  package init(version: Int, text: String) {
    self.version = version
    self.text = text
  }
}

extension DesiredMenu: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    version = try members.required("version", \.version, where: { $0 >= 1 })
    text = try members.required("menu", \.text)
  }
}

/// The kiosk's response to a `DesiredMenu`.
package enum DesiredMenuReport: Hashable, Sendable {
  /// The kiosk uses the menu of this version; version 0 is the menu of its own configuration.
  ///
  /// - Parameter detail: For version 0, the reason why the kiosk does not use the chain's stored
  ///   menu, or `nil` if no menu is stored.
  case taken(version: Int, detail: String? = nil)
  /// The kiosk keeps its previous menu.
  ///
  /// - Parameters:
  ///   - version: The version, or `nil` if it could not be read.
  ///   - detail: An explanation for a person.
  case refused(version: Int?, detail: String)

  package var payload: [UInt8] {
    JSONWriter.object { json in
      switch self {
      case .taken(let version, let detail):
        json.member("version", version)
        json.member("status", "taken")
        if let detail { json.member("detail", detail) }
      case .refused(let version, let detail):
        if let version { json.member("version", version) }
        json.member("status", "refused")
        json.member("detail", detail)
      }
    }
  }

  /// Parses a payload, ignoring unknown members.
  ///
  /// - Throws: `JSONError` if the payload is not a report.
  package init(payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    let version = json.integer("version")
    switch json.text("status") {
    case "taken":
      if let version, version >= 0 {
        self = .taken(version: version, detail: json.text("detail")?.visible())
        return
      }
    case "refused":
      self = .refused(version: version, detail: json.text("detail")?.visible() ?? "")
      return
    default: break
    }
    throw JSONError("this is not a menu report")
  }
}
