import KioskMessages
import Ledger

/// What somebody may have changed in an export before it is imported.
enum ImportFuzz {
  /// What is accepted is the same after writing and reading, in both formats. What is refused is told
  /// in words, on one line, with the line of the file. How the file comes in pieces changes nothing.
  static func records(_ bytes: [UInt8]) {
    for format in RecordFormat.allCases {
      let (records, error) = read(bytes, format, pieces: bytes.count + 1)
      let inPieces = read(bytes, format, pieces: 13)
      expect(inPieces.records == records, "other records in pieces: \(inPieces.records)")
      expect(inPieces.error == error, "in pieces \(String(describing: inPieces.error))")
      if let error {
        let words = "\(error)"
        expect(!error.problem.isEmpty, "an error without words")
        expect(!words.unicodeScalars.contains(where: \.isControl), "not one line: \(words)")
        let lines = bytes.count { $0 == UInt8(ascii: "\n") } + 1
        expect((1...lines).contains(error.line), "line \(error.line) of \(lines)")
      }
      if records.isEmpty { continue }
      for other in RecordFormat.allCases {
        let lines = [LedgerRecord.header(other)].compactMap(\.self) + records.map { $0.line(other) }
        let text = Array(lines.joined(separator: "\n").utf8)
        let again = read(text, other, pieces: text.count + 1)
        expect(again.records == records, "\(records) is read back as \(again)")
        expect(
          again.error == nil, "\(records) is not read back: \(String(describing: again.error))")
      }
    }
  }

  private static func read(
    _ bytes: [UInt8], _ format: RecordFormat, pieces size: Int
  ) -> (records: [LedgerRecord], error: RecordError?) {
    var rest = bytes[...]
    var reader = RecordReader(format: format) {
      defer { rest = rest.dropFirst(size) }
      return Array(rest.prefix(size))
    }
    var records: [LedgerRecord] = []
    do {
      while let (_, record) = try reader.next() { records.append(record) }
      return (records, nil)
    } catch let error as RecordError {
      return (records, error)
    } catch {
      expect(false, "it throws \(error)")
      return (records, nil)
    }
  }
}
