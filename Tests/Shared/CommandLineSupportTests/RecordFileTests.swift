import Foundation
import TestSupport
import Testing

@testable import CommandLineSupport

@Suite struct RecordFileTests {
  private func withFile(_ body: (RecordFile<Int>) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(file(folder.appending(path: "day/records").path(percentEncoded: false)))
  }

  private func file(_ path: String) -> RecordFile<Int> {
    RecordFile(
      path, upTo: 1000, makesFolder: true, whenDamaged: "restore it",
      encode: { Array("\($0)".utf8) }, decode: { Int(String(decoding: $0, as: UTF8.self)) })
  }

  private func text(_ file: RecordFile<Int>) throws -> String {
    try String(contentsOfFile: file.path, encoding: .utf8)
  }

  @Test func anAppendIsOneLine() throws {
    try withFile { file in
      #expect(try file.read().isMissing)
      try file.append([1, 2])
      let inode = try FileManager.default.attributesOfItem(atPath: file.path)[.systemFileNumber]
      try file.append([3], isSynced: false)
      #expect(try text(file) == "1\n2\n3\n" && file.size == 6)
      let same = try FileManager.default.attributesOfItem(atPath: file.path)[.systemFileNumber]
      #expect(inode as? Int == same as? Int)
      #expect(try self.file(file.path).read().records == [1, 2, 3])
    }
  }

  @Test(arguments: ["1\n2\n3", "1\n2\n\u{0}\u{0}\n", "1\n2\n\u{0}\u{0}"])
  func aLineThatAPowerCutHasTruncatedIsRemoved(text: String) throws {
    try withFile { file in
      try file.append([1])
      try text.write(toFile: file.path, atomically: false, encoding: .utf8)
      let other = self.file(file.path)
      #expect(try other.read().records == [1, 2])
      try other.append([4])
      #expect(try other.read().records == [1, 2, 4])
    }
  }

  @Test func aDamagedLineIsNamedOrOmitted() throws {
    try withFile { file in
      try file.append([1])
      try "1\nx\n\u{0}\n4\n".write(toFile: file.path, atomically: false, encoding: .utf8)
      #expect {
        try file.read()
      } throws: {
        "\($0)" == "line 2 of \(file.path): cannot be read; restore it"
      }
      let contents = try file.read(skipsDamage: true)
      #expect(contents.records == [1, 4])
      #expect(contents.problem?.description.hasPrefix("line 2 of") == true)
    }
  }

  @Test(arguments: [Damage.folder, .link, .unreadable])
  func whatIsNoFileIsAnError(damage: Damage) throws {
    try withFile { file in
      try file.append([1])
      try damage.apply(to: file.path)
      #expect(throws: StateError.self) { try file.read(skipsDamage: true) }
      #expect(throws: StateError.self) { try self.file(file.path).append([2]) }
    }
  }

  @Test func aFileIsReplaced() throws {
    try withFile { file in
      try file.append([1, 2, 3])
      try file.replace(with: [3])
      try file.append([4])
      try file.probe()
      #expect(try text(file) == "3\n4\n\n")
      #expect(try file.read().records == [3, 4])
    }
  }
}
