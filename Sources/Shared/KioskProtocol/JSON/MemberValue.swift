package import JuiceDomain

/// The type of a member of a message.
package protocol MemberValue: Sendable {
  init?(member: JSON)
  func write(_ key: StaticString, to json: inout JSONWriter)
}

extension MemberValue where Self: LosslessStringConvertible {
  package init?(member: JSON) {
    guard case .string(let text) = member else { return nil }
    self.init(text)
  }

  package func write(_ key: StaticString, to json: inout JSONWriter) {
    json.member(key, description)
  }
}

extension MemberValue where Self: RawRepresentable<String> {
  package init?(member: JSON) {
    guard case .string(let text) = member else { return nil }
    self.init(rawValue: text)
  }

  package func write(_ key: StaticString, to json: inout JSONWriter) {
    json.member(key, rawValue)
  }
}

extension String: MemberValue {}
extension Identifier: MemberValue {}
extension Timestamp: MemberValue {}
extension CivilDate: MemberValue {}
extension Language: MemberValue {}
extension Currency: MemberValue {}
extension RejectionReason: MemberValue {}
extension ServiceState: MemberValue {}
extension SensorUnit: MemberValue {}
extension Removal.Reason: MemberValue {}
extension Source: MemberValue {}

/// Reads only an array whose elements are all valid.
extension Array: MemberValue where Element: MemberValue & LosslessStringConvertible {
  package init?(member: JSON) {
    guard case .array(let elements) = member else { return nil }
    self = elements.compactMap(Element.init(member:))
    if count < elements.count { return nil }
  }

  package func write(_ key: StaticString, to json: inout JSONWriter) {
    json.member(key, map(\.description))
  }
}

extension Int: MemberValue {
  package init?(member: JSON) {
    guard let number = member.wholeNumber else { return nil }
    self = number
  }

  package func write(_ key: StaticString, to json: inout JSONWriter) { json.member(key, self) }
}

extension Bool: MemberValue {
  package init?(member: JSON) {
    guard case .bool(let value) = member else { return nil }
    self = value
  }

  package func write(_ key: StaticString, to json: inout JSONWriter) { json.member(key, self) }
}

/// Reads only numbers from 0 to 10^9.
extension Double: MemberValue {
  package init?(member: JSON) {
    guard let number = member.decimal else { return nil }
    self = number
  }

  package func write(_ key: StaticString, to json: inout JSONWriter) { json.member(key, self) }
}

extension FruitAmounts: MemberValue {
  package init?(member: JSON) {
    guard let amounts = member.amounts else { return nil }
    self = amounts
  }

  package func write(_ key: StaticString, to json: inout JSONWriter) { json.member(key, self) }
}
