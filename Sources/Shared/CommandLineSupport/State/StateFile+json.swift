package import KioskProtocol

extension StateFile {
  /// Describes a file with messages as JSON: an object with an array, whose elements must all be valid.
  package init<Element: FormattedMessage>(
    _ path: String, upTo limit: Int, makesFolder: Bool = false, listing key: StaticString,
    withoutCopy advice: String
  ) where Value == [Element] {
    self.init(
      path, upTo: limit, makesFolder: makesFolder, withoutCopy: advice,
      encode: { elements in
        JSONWriter.object { json in json.member(key, elements) { $0.members($1) } }
      },
      decode: { payload in
        guard let elements = try JSON.parse(payload).elements(key.description) else {
          throw JSONError("'\(key)' is missing")
        }
        return try elements.map { try Element($0) }
      })
  }
}
