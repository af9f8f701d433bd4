package import JuiceDomain

/// A message whose initializer describes each member once, for encoding and decoding.
///
/// ```swift
/// extension Answer: FormattedMessage {
///   package init(_ members: inout Members<Self>) throws(JSONError) {
///     job = try members.required("job", \.job)
///     reason = members.optional("reason", \.reason)
///   }
/// }
/// ```
package protocol FormattedMessage: Sendable {
  /// Reads or writes each member. The order of the calls is the order in the payload.
  init(_ members: inout Members<Self>) throws(JSONError)
}

extension FormattedMessage {
  package var payload: [UInt8] { JSONWriter.object { $0.members(self) } }

  /// Parses a payload, ignoring unknown members.
  ///
  /// - Throws: `JSONError` if the payload is not JSON, or a required member is missing or invalid.
  package init(payload: [UInt8]) throws(JSONError) { try self.init(JSON.parse(payload)) }

  package init(_ json: JSON) throws(JSONError) {
    var members = Members<Self>(reading: json)
    try self.init(&members)
  }
}

extension JSONWriter {
  package mutating func members<Message: FormattedMessage>(_ message: Message) {
    withUnsafePointer(to: message) { message in
      var members = Members(message, to: JSONWriter(bytes: []))
      swap(&self, &members.writer)
      // Writing throws no error.
      _ = try? Message(&members)
      swap(&self, &members.writer)
    }
  }
}

/// Reads or writes the members of a message. Each method except `writes` reads or writes one or
/// more members, and returns the value.
///
/// `text` also removes invisible characters from a text that it reads, and truncates the text.
package struct Members<Message> {
  /// The object that is read, or `null` while a message is written.
  let json: JSON
  /// The message that is written, or `nil` while a message is read. A pointer, because a copy of the
  /// message for each member would double the instructions of an event.
  private let message: UnsafePointer<Message>?
  fileprivate var writer: JSONWriter

  init(reading json: JSON) {
    (self.json, message, writer) = (json, nil, JSONWriter(bytes: []))
  }

  fileprivate init(_ message: UnsafePointer<Message>, to writer: JSONWriter) {
    (json, self.message, self.writer) = (.null, message, writer)
  }

  /// Reads or writes a member. Reading throws an error if the member is invalid, or absent without
  /// a `standard`.
  ///
  /// - Parameters:
  ///   - standard: The value of an absent member, or `nil` if the member is required.
  ///   - isValid: Returns whether a value is in range.
  package mutating func required<Value: MemberValue>(
    _ key: StaticString, _ get: (Message) -> Value, or standard: Value? = nil,
    where isValid: (Value) -> Bool
  ) throws(JSONError) -> Value {
    guard let message else { return try read(key, or: standard, where: isValid) }
    let value = get(message.pointee)
    value.write(key, to: &writer)
    return value
  }

  // Not a default value of `isValid`, which would be allocated for each call from another module.
  package mutating func required<Value: MemberValue>(
    _ key: StaticString, _ get: (Message) -> Value, or standard: Value? = nil
  ) throws(JSONError) -> Value {
    try required(key, get, or: standard, where: { _ in true })
  }

  // A function of its own: the type `Value?` alone would cost a writer in another module 400 instructions.
  private func read<Value: MemberValue>(
    _ key: StaticString, or standard: Value?, where isValid: (Value) -> Bool
  ) throws(JSONError) -> Value {
    let member = json[key.description]
    guard let value = member.map(Value.init(member:)) ?? standard, isValid(value) else {
      throw problem(key, member == nil ? "is missing" : "is invalid or out of range")
    }
    return value
  }

  /// Reads or writes a member that may be absent. An invalid one counts as absent.
  ///
  /// - Parameter isValid: Returns whether a value is in range.
  package mutating func optional<Value: MemberValue>(
    _ key: StaticString, _ get: (Message) -> Value?, where isValid: (Value) -> Bool
  ) -> Value? {
    guard let message else {
      return json[key.description].flatMap(Value.init(member:)).flatMap { isValid($0) ? $0 : nil }
    }
    let value = get(message.pointee)
    value?.write(key, to: &writer)
    return value
  }

  package mutating func optional<Value: MemberValue>(
    _ key: StaticString, _ get: (Message) -> Value?
  ) -> Value? {
    optional(key, get, where: { _ in true })
  }

  /// Reads or writes a text for people, which may be absent.
  ///
  /// - Parameter limit: Maximum number of Unicode scalars that are read.
  package mutating func text(
    _ key: StaticString, _ get: (Message) -> String?, upTo limit: Int = 64
  ) -> String? {
    message == nil ? json.visibleText(key.description, upTo: limit) : optional(key, get)
  }

  /// Reads or writes a text in each language, which may be absent.
  ///
  /// - Parameter limit: Maximum number of Unicode scalars that are read of each language.
  package mutating func text(
    _ key: StaticString, _ get: (Message) -> LocalizedName?, upTo limit: Int
  ) -> LocalizedName? {
    message == nil
      ? json[key.description].flatMap { LocalizedName($0, upTo: limit) } : optional(key, get)
  }

  /// Reads or writes a Boolean member. Reads an absent member, or any value but `true`, as `false`.
  package mutating func flag(_ key: StaticString, _ get: (Message) -> Bool) -> Bool {
    guard let message else { return json[key.description] == .bool(true) }
    let value = get(message.pointee)
    writer.member(key, value)
    return value
  }

  /// Reads or writes an object of texts; writes no member if there are none. Reading omits values
  /// that are not texts.
  package mutating func texts(
    _ key: StaticString, _ get: (Message) -> [String: String]
  ) -> [String: String] {
    guard let message else {
      guard case .object(let members) = json[key.description] else { return [:] }
      return members.reduce(into: [:]) { texts, member in
        if case .string(let text) = member.value { texts[member.key] = text }
      }
    }
    let texts = get(message.pointee)
    if !texts.isEmpty {
      writer.member(key) { json in
        for (key, text) in texts.sorted(by: { $0.key < $1.key }) { json.member(named: key, text) }
      }
    }
    return texts
  }

  /// Reads or writes a member that a message of this kind must have. Reading throws an error if the
  /// member is absent or invalid.
  ///
  /// - Parameter get: Returns the value, or `nil` for a message of another kind.
  package mutating func present<Value: MemberValue>(
    _ key: StaticString, _ get: (Message) -> Value?
  ) throws(JSONError) -> Value {
    guard let value = optional(key, get) else { throw missing(key) }
    return value
  }

  /// Reads a member that the description of the whole object writes.
  mutating func reads<Value: MemberValue>(
    _ key: StaticString, _ get: (Message) -> Value
  ) throws(JSONError) -> Value {
    if let message { return get(message.pointee) }
    guard let value = json[key.description].flatMap(Value.init(member:)) else {
      throw missing(key)
    }
    return value
  }

  /// Reads or writes a value for which no other method exists, and which may be absent.
  mutating func other<Value>(
    _ get: (Message) -> Value?, read: (JSON) -> Value?,
    write: (inout JSONWriter, Value) -> Void
  ) -> Value? {
    guard let message else { return read(json) }
    let value = get(message.pointee)
    if let value { write(&writer, value) }
    return value
  }

  /// Returns the value of the message that is written, or makes it from members that were read.
  mutating func made<Value>(
    _ get: (Message) -> Value, read: () throws(JSONError) -> Value
  ) throws(JSONError) -> Value {
    if let message { return get(message.pointee) }
    return try read()
  }

  /// Writes a member. Does nothing while a message is read.
  package mutating func writes<Value: MemberValue>(
    _ key: StaticString, _ get: (Message) -> Value?
  ) {
    if let message { get(message.pointee)?.write(key, to: &writer) }
  }

  /// Reads or writes an amount of at least one smallest unit, as the members `amount` and
  /// `currency`. Returns `nil` if it is absent or invalid.
  package mutating func units(_ get: (Message) -> Money?) -> Money? {
    guard let message else { return json.units() }
    let money = get(message.pointee)
    if let money { writer.member(units: money) }
    return money
  }

  /// Reads or writes an amount as a text, and its currency as the member `currency`. Returns `nil` if
  /// one is absent or invalid, or if a read amount has more than `limit` smallest units.
  mutating func money(
    _ key: StaticString, _ get: (Message) -> Money?, upTo limit: UInt = .max
  ) -> Money? {
    other(
      get,
      read: { json in
        json.money(key.description).flatMap { $0.units.magnitude <= limit ? $0 : nil }
      },
      write: { $0.member(key, $1) })
  }

  package mutating func requiredUnits(_ get: (Message) -> Money) throws(JSONError) -> Money {
    guard let money = units(get) else {
      throw JSONError(
        "'amount' and 'currency' are not a whole number from 1 to \(JSON.maximumUnits) "
          + "and a code such as EUR")
    }
    return money
  }

  /// Reads or writes an array of objects.
  ///
  /// - Parameters:
  ///   - limit: Maximum number of objects that are read. Invalid ones are omitted.
  ///   - omitsEmpty: Whether an empty array is not written.
  package mutating func list<Element: FormattedMessage>(
    _ key: StaticString, _ get: (Message) -> [Element], upTo limit: Int, omitsEmpty: Bool = false
  ) -> [Element] {
    guard let message else {
      return (json.elements(key.description) ?? []).prefix(limit).compactMap { try? Element($0) }
    }
    let elements = get(message.pointee)
    if !omitsEmpty || !elements.isEmpty { writer.member(key, elements) { $0.members($1) } }
    return elements
  }

  /// Reads or writes an array of at most `limit` objects. Reading omits invalid ones, and throws an
  /// error if the array is absent or longer.
  mutating func page<Element: FormattedMessage>(
    _ key: StaticString, _ get: (Message) -> [Element], upTo limit: Int
  ) throws(JSONError) -> [Element] {
    guard message != nil || json.elements(key.description)?.count ?? .max <= limit else {
      throw problem(key, "is not an array of at most \(limit) objects")
    }
    return list(key, get, upTo: limit)
  }

  /// Reads or writes an array of at most `limit` objects, which must all be valid.
  ///
  /// - Parameter omitsEmpty: Whether an empty array is not written, and an absent one is empty.
  package mutating func all<Element: FormattedMessage>(
    _ key: StaticString, _ get: (Message) -> [Element], upTo limit: Int = .max,
    omitsEmpty: Bool = false
  ) throws(JSONError) -> [Element] {
    guard message == nil else { return list(key, get, upTo: 0, omitsEmpty: omitsEmpty) }
    guard let elements = json.elements(key.description) ?? (omitsEmpty ? [] : nil),
      elements.count <= limit
    else { throw problem(key, "is missing, not an array or too long") }
    var values: [Element] = []
    for element in elements { values.append(try Element(element)) }
    return values
  }

  /// Reads or writes an object with an object for each fruit or juice, sorted by the keys. All must be
  /// valid, and a read object has at most `JSON.maximumMenuEntries`.
  mutating func keyed<Key: LosslessStringConvertible & Comparable, Value: FormattedMessage>(
    _ key: StaticString, _ get: (Message) -> [Key: Value]
  ) throws(JSONError) -> [Key: Value] {
    guard let message else {
      guard case .object(let members) = json[key.description],
        members.count <= JSON.maximumMenuEntries
      else { throw missing(key) }
      var values: [Key: Value] = [:]
      for member in members {
        guard let name = Key(member.key) else { throw missing(key) }
        values[name] = try Value(member.value)
      }
      return values
    }
    let values = get(message.pointee)
    writer.member(key) { json in
      for (name, value) in values.sorted(by: { $0.key < $1.key }) {
        json.member(named: name.description) { $0.members(value) }
      }
    }
    return values
  }

  /// Reads or writes an array of identifiers, which may be absent.
  ///
  /// - Parameter limit: Maximum number of identifiers that are read. Invalid ones are omitted.
  mutating func identifiers<ID: LosslessStringConvertible>(
    _ key: StaticString, _ get: (Message) -> [ID]?, upTo limit: Int
  ) -> [ID]? {
    other(
      get,
      read: { json in
        json.elements(key.description)?.prefix(limit).compactMap {
          if case .string(let text) = $0 { ID(text) } else { nil }
        }
      },
      write: { $0.member(key, $1.map(\.description)) })
  }

  /// Reads or writes an array of identifiers; writes no member if there are none.
  mutating func identifiers<ID: LosslessStringConvertible>(
    _ key: StaticString, _ get: (Message) -> [ID], upTo limit: Int
  ) -> [ID] {
    identifiers(key, { get($0).isEmpty ? nil : get($0) }, upTo: limit) ?? []
  }

  /// Reads or writes an array of names. Reading omits unknown and repeated ones.
  package mutating func names<Name: RawRepresentable<String> & Hashable>(
    _ key: StaticString, _ get: (Message) -> [Name]
  ) -> [Name] {
    guard let message else {
      var read: Set<Name> = []
      return (json.elements(key.description) ?? []).compactMap { element in
        guard case .string(let text) = element, let name = Name(rawValue: text),
          read.insert(name).inserted
        else { return nil }
        return name
      }
    }
    let names = get(message.pointee)
    writer.member(key, names.map(\.rawValue))
    return names
  }

  /// Reads or writes the members of another message, in the same object.
  package mutating func members<Part: FormattedMessage>(
    _ get: (Message) -> Part
  ) throws(JSONError) -> Part {
    guard let message else { return try Part(json) }
    let part = get(message.pointee)
    writer.members(part)
    return part
  }

  /// Reads or writes the members of another message in the same object, which a message of this kind
  /// must have.
  ///
  /// - Parameter get: Returns the other message, or `nil` for a message of another kind.
  mutating func part<Part: FormattedMessage>(
    _ get: (Message) -> Part?
  ) throws(JSONError) -> Part {
    guard let message else { return try Part(json) }
    guard let part = get(message.pointee) else { throw JSONError("the message is of another kind") }
    writer.members(part)
    return part
  }

  /// Reads or writes the members of another message in the same object. Returns `nil` if `first` is
  /// absent.
  package mutating func members<Part: FormattedMessage>(
    _ get: (Message) -> Part?, ifPresent first: StaticString
  ) throws(JSONError) -> Part? {
    guard let message else { return json[first.description] == nil ? nil : try Part(json) }
    let part = get(message.pointee)
    if let part { writer.members(part) }
    return part
  }

  /// Reads or writes an object that may be absent. Reading throws an error if the object is invalid.
  package mutating func optional<Part: FormattedMessage>(
    _ key: StaticString, _ get: (Message) -> Part?
  ) throws(JSONError) -> Part? {
    guard let message else {
      guard let part = json[key.description] else { return nil }
      return try Part(part)
    }
    let part = get(message.pointee)
    if let part { writer.member(key) { $0.members(part) } }
    return part
  }

  func missing(_ key: StaticString) -> JSONError { problem(key, "is missing or invalid") }

  private func problem(_ key: StaticString, _ problem: String) -> JSONError {
    JSONError("'\(key)' \(problem)")
  }
}
