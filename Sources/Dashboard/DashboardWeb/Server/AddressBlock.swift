import Foundation

/// The addresses of one subscriber: an IPv4 address, or the /64 network of an IPv6 address, which
/// two subscribers never share (RFC 6177).
struct AddressBlock: Hashable, Sendable, CustomStringConvertible {
  let description: String

  /// Creates the block that contains an address.
  ///
  /// - Parameter address: The address as a socket or a proxy reports it. A text that is not an
  ///   address is used unchanged.
  init(_ address: String) {
    var bytes = [UInt8](repeating: 0, count: 16)
    guard inet_pton(AF_INET6, address, &bytes) == 1 else {
      description = address
      return
    }
    // An IPv4-mapped address, as a dual-stack socket reports it: ::ffff:192.0.2.1 (RFC 4291
    // 2.5.5.2).
    let isIPv4 = bytes.starts(with: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF])
    description =
      isIPv4
      ? bytes.suffix(4).map { String($0) }.joined(separator: ".")
      : bytes.prefix(8).map { String($0, radix: 16) }.joined(separator: ".") + "/64"
  }
}

/// Reads the address of an element of `X-Forwarded-For`. Some proxies add the port, as in
/// `192.0.2.1:5000` and `[2001:db8::1]:5000`, and brackets or quotation marks as in RFC 7239.
///
/// - Returns: The address without port, brackets and zone, or `nil` if the text contains none.
func forwardedAddress(_ text: some StringProtocol) -> String? {
  var address = String(text).filter { $0 != " " && $0 != "\t" && $0 != "\"" }
  if address.hasPrefix("["), let end = address.firstIndex(of: "]") {
    address = String(address[address.index(after: address.startIndex)..<end])
  } else if address.count(where: { $0 == ":" }) == 1, let colon = address.firstIndex(of: ":") {
    address = String(address[..<colon])
  }
  if let zone = address.firstIndex(of: "%") { address = String(address[..<zone]) }
  var bytes = [UInt8](repeating: 0, count: 16)
  guard
    inet_pton(AF_INET, address, &bytes) == 1 || inet_pton(AF_INET6, address, &bytes) == 1
  else { return nil }
  return address
}
