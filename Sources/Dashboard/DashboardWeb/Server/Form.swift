import Hummingbird
import JuiceDomain
import KioskProtocol
import NIOCore

/// The fields of a submitted form or of a query.
struct Form: Sendable {
  /// Maximum size of a form, in bytes.
  static let maximumSize = 1 << 16

  private var fields: [String: String]

  /// Reads `application/x-www-form-urlencoded`. An invalid text, or one with a duplicate field, has
  /// no fields.
  init(_ text: String) {
    fields = (try? URLEncodedFormDecoder().decode([String: String].self, from: text)) ?? [:]
  }

  subscript(name: String) -> String? {
    get { fields[name] }
    set { fields[name] = newValue }
  }

  /// Returns whether the user has changed a field. The hidden field `was.NAME` contains the value
  /// that the page showed. Without this hidden field, every value counts as changed.
  func isChanged(_ name: String) -> Bool { self[name] != self["was.\(name)"] }

  /// Returns the value with which a page shows a field again, and the hidden field for `isChanged`: those
  /// of this form if the user has changed the field.
  ///
  /// - Parameter now: The value in force, or `nil` for a checkbox that is not ticked.
  func field(_ name: String, _ now: String?) -> (value: String?, was: HTML?) {
    let isChanged = isChanged(name)
    let was = isChanged ? self["was.\(name)"] : now
    return (isChanged ? self[name] : now, was.map { HTML.hidden("was.\(name)", $0) })
  }

  /// The id of the command that the form sends.
  var commandID: CommandID? { self["id"].flatMap { CommandID($0) } }

  /// Returns the names of the fields that begin with `prefix`, without the prefix, sorted.
  func names(_ prefix: String) -> [String] {
    fields.keys.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }.sorted()
  }

  /// Returns the text of a number without spaces, also if it is no number, with which a page shows
  /// the field again; or `nil` if the field is absent or empty.
  func numberText(_ name: String) -> String? {
    let text = fields[name]?.filter { !$0.isWhitespace } ?? ""
    return text.isEmpty ? nil : text
  }

  /// Returns a whole number, or `nil` if the field is absent or empty. Throws
  /// `RequestError.badNumber` for any other text, and for a magnitude above 1,000,000,000.
  func number(_ name: String) throws(RequestError) -> Int? {
    guard let text = numberText(name) else { return nil }
    guard let number = Int(text), number.magnitude <= 1_000_000_000 else {
      throw .badNumber(self, text.visible(upTo: 40))
    }
    return number
  }

  /// Returns a whole number, or `nil` if the field does not contain one.
  func value(_ name: String) -> Int? { (try? number(name)) ?? nil }

  /// Returns the fields whose names consist of `prefix` and a fruit, as amounts. Omits empty
  /// fields, and zeros if `isChange`.
  func amounts(_ prefix: String, isChange: Bool = false) throws(RequestError) -> FruitAmounts {
    var amounts: FruitAmounts = [:]
    for name in fields.keys where name.hasPrefix(prefix) {
      guard let amount = try number(name) else { continue }
      guard let fruit = Fruit.ID(name.dropFirst(prefix.count)) else { throw .badForm }
      if !isChange || amount != 0 { amounts[fruit] = amount }
    }
    return amounts
  }
}

extension Request {
  /// Reads the body of a form, and removes it from this request: Hummingbird ends the process if a body
  /// is read a second time.
  ///
  /// - Returns: The form, or the reason why a handler cannot read it: `RequestError.incomplete` if the
  ///   client closed the connection, sent a malformed body or exceeded the deadline.
  mutating func takeForm() async -> Result<Form, any Error> {
    // guard: a body is read once
    defer { body = RequestBody(buffer: ByteBuffer()) }
    do {
      return .success(Form(String(buffer: try await body.collect(upTo: Form.maximumSize))))
    } catch let error as any HTTPResponseError {
      return .failure(error)
    } catch {
      return .failure(RequestError.incomplete)
    }
  }
}

extension PageContext {
  /// Returns the form that was sent.
  ///
  /// - Throws: `RequestError.forged` if the form's CSRF token is not valid for the session, or the
  ///   reason why there is no form.
  func form(_ sessions: Sessions) throws -> Form {
    let form = try sent.get()
    guard let csrfToken = form["csrf_token"],
      sessions.isValid(csrfToken: csrfToken, for: sessionToken)
    else {
      throw RequestError.forged(form)
    }
    return form
  }
}

/// The id of a command to a kiosk. (`Request` is a type of Hummingbird, too.)
typealias CommandID = KioskProtocol.Request.ID

extension CommandID {
  /// A new, unique id.
  static var random: Self { random("dashboard") }

  /// Returns a new, unique id of a correction.
  ///
  /// - Parameter entry: The `seq` of the corrected entry, or `nil` if it is unknown.
  static func correction(of entry: Int?) -> Self { random("correct-\(max(0, entry ?? 0))") }

  private static func random(_ prefix: String) -> Self {
    let number = UInt128.random(in: 0 ... .max)
    guard let id = Self("\(prefix)-\(String(number, radix: 36))") else {
      preconditionFailure("digits and letters make an id")
    }
    return id
  }
}
