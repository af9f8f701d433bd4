extension String {
  /// As RFC 4180 has it. By bytes: to a `String`, a quote and a combining character are one.
  package var csvField: String {
    let special = Array(",\"\r\n".utf8)
    guard utf8.contains(where: special.contains) else { return self }
    let quote = UInt8(ascii: "\"")
    let doubled = utf8.flatMap { $0 == quote ? [quote, quote] : [$0] }
    return String(decoding: [quote] + doubled + [quote], as: UTF8.self)
  }
}
