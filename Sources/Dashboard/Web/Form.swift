import Foundation
import Hummingbird
import JuiceMaker

/// The fields of a form that was sent, or of a query.
struct Form: Sendable {
  /// No form of ours is longer; in bytes.
  static let maximumSize = 1 << 16

  private var fields: [String: String] = [:]

  /// Reads `application/x-www-form-urlencoded`; what is no text is left out, and of a field that
  /// comes twice the first stands.
  init(_ text: some StringProtocol) {
    for pair in text.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        .map { String($0).replacing("+", with: " ").removingPercentEncoding }
      guard let name = parts.first ?? nil, let value = parts.count > 1 ? parts[1] : "" else {
        continue
      }
      if fields[name] == nil { fields[name] = value }
    }
  }

  subscript(name: String) -> String? { fields[name] }

  /// A whole number; `nil` where there is none, or an empty field.
  func number(_ name: String) throws(Refusal) -> Int? {
    guard let text = fields[name]?.filter({ !$0.isWhitespace }), !text.isEmpty else { return nil }
    guard let number = Int(text), number.magnitude <= 1_000_000_000 else { throw .badForm }
    return number
  }

  /// The fields whose names start with `prefix`, as amounts of the fruit that the rest names; those
  /// that are empty or zero are left out if `isChange`.
  func amounts(_ prefix: String, isChange: Bool = false) throws(Refusal) -> FruitAmounts {
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
  /// The form that this request brings, if it is from a page of ours.
  func form(from visit: Visit, _ sessions: Sessions) async throws -> Form {
    let buffer = try await body.collect(upTo: Form.maximumSize)
    let form = Form(String(buffer: buffer))
    guard let proof = form["proof"], sessions.isValid(proof: proof, for: visit.token) else {
      throw Refusal.forged
    }
    return form
  }
}
