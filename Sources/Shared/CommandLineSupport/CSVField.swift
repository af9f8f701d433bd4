extension String {
  /// The text as a field of a line of CSV (RFC 4180).
  ///
  /// It works on bytes, because to a `String` a quote and a combining character after it are one.
  package var csvField: String {
    let special = Array(",\"\r\n".utf8)
    guard utf8.contains(where: special.contains) else { return self }
    let quote = UInt8(ascii: "\"")
    let doubled = utf8.flatMap { $0 == quote ? [quote, quote] : [$0] }
    return String(decoding: [quote] + doubled + [quote], as: UTF8.self)
  }
}
