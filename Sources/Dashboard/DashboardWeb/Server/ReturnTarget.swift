import Hummingbird

/// The page to which a user returns if the server did not process a form, for example after the end
/// of the session: the page that contains the form, with the entered values as its query.
///
/// | form | page |
/// |---|---|
/// | `/kiosks/k1/review` with `add.kiwi=5` | `/kiosks/k1?add.kiwi=5` |
/// | `/routes/r1/kiosks/k1` with `counted.kiwi=3` | `/routes/r1/kiosks/k1?counted.kiwi=3` |
/// | `/routes` with `margin=20` | `/routes/new?margin=20` |
enum ReturnTarget {
  /// Maximum length of the query, in bytes. The address of the login page contains the query in an
  /// encoded form, which is longer.
  static let maximumQuery = 3_000

  /// Returns the path of the page that contains the form of a request, or the request's own path
  /// and query if the request does not send a form. It is a path on this server, also if the request's
  /// path is none, such as `//example.com`.
  static func page(of request: Request) -> String {
    guard request.method == .post else {
      return DashboardServer.redirectTarget(request.uri.string)
    }
    let parts = request.uri.path.split(separator: "/")
    switch (parts.first, parts.count) {
    case ("kiosks", 3) where ["panel", "settings", "menu"].contains(parts[2]), ("routes", 4),
      ("login", 1),
      ("users", 1), ("password", 2):
      return "/" + parts.joined(separator: "/")
    case ("routes", 3) where parts[2] == "edit": return "/" + parts.joined(separator: "/")
    case ("kiosks", 3), ("routes", 3), ("routes", 5):
      return "/" + parts.dropLast().joined(separator: "/")
    case ("routes", 1): return "/routes/new"
    case ("account", 2): return parts[1] == "messages" ? "/account/messages" : "/account"
    default: return "/"
    }
  }

  /// Returns the page of a form with the entered values, or without them if they are too long.
  static func page(of request: Request, with form: Form) -> String {
    let values = form.names("").compactMap { name -> String? in
      // Keep only the `kept` fields that the user has changed, and their hidden `was.` fields.
      let field = name.hasPrefix("was.") ? String(name.dropFirst("was.".count)) : name
      guard let kind = field.split(separator: ".").first.map({ String($0) }),
        kept.contains(kind), form.isChanged(field), let value = form[name], !value.isEmpty,
        value != "0" || !zeroUnlessEntered.contains(kind)
      else { return nil }
      return "\(name.percentEncoded)=\(value.percentEncoded)"
    }
    let query = values.joined(separator: "&")
    let page = page(of: request)
    return query.isEmpty || query.utf8.count > maximumQuery ? page : "\(page)?\(query)"
  }

  /// The fields that contain 0 until a person enters a number.
  private static let zeroUnlessEntered: Set<String> = ["add", "brought"]

  private static let kept: Set<String> = [
    "add", "set", "remove", "reason", "word", "brought", "counted", "ledger", "best", "correct",
    "arrival", "until",
    "margin", "fill", "q", "stops", "van", "zone",
    "kiosk", "all", "same_currency", "same_region", "all_prices", "price", "disabled", "capacity",
    "low",
    "currency", "hours",
    "from", "to", "amount", "fruit", "juice", "allergens", "note", "picture",
    "order", "name", "driver",
    "user", "role", "region",
  ]
}
