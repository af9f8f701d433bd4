import JuiceMaker
import KioskMessages

/// The two ways in which records are written.
package enum RecordFormat: String, CaseIterable, Sendable {
  /// A JSON object on each line.
  case jsonl
  /// RFC 4180, with a column for each field that any record has, and amounts as `banana 1; kiwi -2`.
  /// A cell with nothing in it is no field; `""` is an empty text.
  case csv
}

extension LedgerRecord {
  /// The line that names the columns; `nil` where there is none.
  package static func header(_ format: RecordFormat) -> String? {
    guard format == .csv else { return nil }
    return RecordFields.Name.allCases.map(\.rawValue).joined(separator: ",")
  }

  /// Without an end of line, but a text in a table may have one in it.
  package func line(_ format: RecordFormat) -> String {
    switch format {
    case .jsonl: String(decoding: fields.json, as: UTF8.self)
    case .csv: fields.csv
    }
  }
}

extension RecordFields {
  fileprivate var json: [UInt8] {
    JSONWriter.object { json in
      for name in Name.allCases {
        switch self[name] {
        case .integer(let number): json.member(named: name.rawValue, number)
        case .text(let text), .cell(let text): json.member(named: name.rawValue, text)
        case .amounts(let amounts):
          json.member(named: name.rawValue) { json in
            for (fruit, amount) in amounts { json.member(named: fruit.text, amount) }
          }
        case nil: break
        }
      }
    }
  }

  init(_ json: JSON) throws(RecordError) {
    guard case .object(let members) = json else {
      throw RecordError(nil, "it is \(json.kind), not an object")
    }
    self.init()
    for member in members {
      guard let name = Name(rawValue: member.key) else {
        throw RecordError(member.key.field, "there is no such field")
      }
      self[name] =
        switch member.value {
        case .integer(let number): .integer(number)
        case .string(let text): .text(text)
        case .object(let fruits): .amounts(try Self.amounts(fruits, of: name))
        default: throw RecordError(name.rawValue, "no field holds \(member.value.kind)")
        }
    }
  }

  private static func amounts(
    _ members: [JSON.Member], of name: Name
  ) throws(RecordError) -> FruitAmounts {
    var amounts: FruitAmounts = [:]
    for member in members {
      guard let fruit = Fruit.ID(member.key), case .integer(let amount) = member.value else {
        throw RecordError(name.rawValue, "it is not amounts of fruit")
      }
      amounts[fruit] = amount
    }
    return amounts
  }

  fileprivate var csv: String {
    Name.allCases.map { name in
      switch self[name] {
      case .integer(let number): "\(number)"
      case .text(let text), .cell(let text): text.isEmpty ? "\"\"" : text.csvField
      case .amounts(let amounts) where amounts.isEmpty: "\"\""
      case .amounts(let amounts):
        amounts.map { "\($0.fruit) \($0.amount)" }.joined(separator: "; ")
      case nil: ""
      }
    }.joined(separator: ",")
  }
}

extension String {
  /// As RFC 4180 has it. By bytes: to a `String`, a quote and a combining character are one.
  package var csvField: String {
    let special = Array(",\"\r\n".utf8)
    guard utf8.contains(where: special.contains) else { return self }
    let quote = UInt8(ascii: "\"")
    let doubled = utf8.flatMap { $0 == quote ? [quote, quote] : [$0] }
    return String(decoding: [quote] + doubled + [quote], as: UTF8.self)
  }

  /// A name that somebody made up, for a message of one line.
  var field: String {
    let shown = unicodeScalars.prefix(40).map { $0.isControl ? "?" : Character($0) }
    return shown.isEmpty ? "a field without a name" : String(shown)
  }
}
