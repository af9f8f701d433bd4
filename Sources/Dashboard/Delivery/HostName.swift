import Foundation

/// The name of this computer that a mail server receives in EHLO.
enum HostName {
  /// Returns a fully qualified name, which strict servers require (RFC 5321 4.1.1.1): the host name
  /// if it has a domain, its canonical name in DNS, the domain of the sender, or else an address
  /// literal. For a host name without a domain, blocks until DNS answers.
  static func qualified(orDomainOf sender: String) -> String {
    var buffer = [CChar](repeating: 0, count: 256)
    guard gethostname(&buffer, buffer.count - 1) == 0 else {
      return choose(host: "", canonical: nil, sender: sender)
    }
    let host = text(buffer)
    if isQualified(host) { return host }
    var hints = addrinfo()
    hints.ai_flags = AI_CANONNAME
    var found: UnsafeMutablePointer<addrinfo>?
    defer { freeaddrinfo(found) }
    let hasAnswer = getaddrinfo(host, nil, &hints, &found) == 0
    let canonical = hasAnswer ? found?.pointee.ai_canonname.map { String(cString: $0) } : nil
    return choose(host: host, canonical: canonical, sender: sender)
  }

  static func choose(host: String, canonical: String?, sender: String) -> String {
    let domain = sender.split(separator: "@").last.map { String($0) }
    // An address literal is allowed for a computer without a name (RFC 5321 4.1.3).
    return [host, canonical, domain].compactMap(\.self).first(where: isQualified) ?? "[127.0.0.1]"
  }

  private static func isQualified(_ name: String) -> Bool {
    let labels = name.split(separator: ".", omittingEmptySubsequences: false)
    return labels.count > 1
      && labels.allSatisfy { label in
        !label.isEmpty
          && label.utf8.allSatisfy {
            $0 == UInt8(ascii: "-") || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0
              || UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20
          }
      }
  }

  private static func text(_ buffer: [CChar]) -> String {
    String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
