extension String {
  /// The text as a CSV field, quoted if necessary (RFC 4180).
  ///
  /// Works on bytes: in a `String`, a quote followed by a combining character is a single
  /// `Character`.
  package var csvField: String {
    let special = Array(",\"\r\n".utf8)
    guard utf8.contains(where: special.contains) else { return self }
    let quote = UInt8(ascii: "\"")
    let doubled = utf8.flatMap { $0 == quote ? [quote, quote] : [$0] }
    return String(decoding: [quote] + doubled + [quote], as: UTF8.self)
  }
}
