import Foundation
import TestSupport
import Testing

@testable import CommandLineSupport

@Suite struct StateFileTests {
  private func withFile(
    usesCopy: Bool = true, _ body: (StateFile<String>) throws -> Void
  ) throws {
    let place = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: place) }
    let path = place.appending(path: "state/a.json").path(percentEncoded: false)
    try body(
      StateFile(
        path, upTo: 10, makesFolder: true, usesCopy: usesCopy, withoutCopy: "make it again",
        encode: { Array("<\($0)>\n".utf8) },
        decode: { bytes in
          let text = String(decoding: bytes, as: UTF8.self)
          guard text.hasPrefix("<"), text.hasSuffix(">\n") else { throw LineError(1, "no < >") }
          return String(text.dropFirst().dropLast(2))
        }))
  }

  private func names(_ file: StateFile<String>) throws -> [String] {
    try Disk.names(in: Disk.folder(of: file.path))
  }

  @Test func aFileIsReadAsItWasWrittenLast() throws {
    try withFile { file in
      #expect(try file.read() == nil && file.load().problem == nil)
      try file.write("one")
      try file.write("two")
      #expect(try file.read() == "two")
      #expect(try names(file) == ["a.json", "a.json.good"])
      try file.remove()
      #expect(try names(file) == [])
    }
  }

  @Test func nobodyElseMayReadIt() throws {
    try withFile { file in
      try file.write("one")
      for (place, mode) in [
        (Disk.folder(of: file.path), 0o700), (file.path, 0o600), (file.copyPath, 0o600),
      ] {
        let found = try FileManager.default.attributesOfItem(atPath: place)
        #expect(found[.posixPermissions] as? Int == mode)
      }
    }
  }

  @Test func theRestOfAKilledWriteIsIgnored() throws {
    try withFile { file in
      try file.write("one")
      try Data("ha".utf8).write(to: URL(filePath: "\(file.path).new"))
      #expect(try file.read() == "one")
      try file.write("two")
      #expect(try file.read() == "two")
    }
  }

  @Test(arguments: Damage.allCases)
  func aDamagedFileIsReplacedByItsCopy(damage: Damage) throws {
    try withFile { file in
      try file.write("one")
      try damage.apply(to: file.path)
      let (value, problem) = file.load()
      #expect(value == "one")
      let text = try #require(problem).description
      #expect(text.hasPrefix(file.path) && text.contains("cp -p \(file.copyPath) \(file.path)"))
      #expect(throws: StateError.self) { try file.read() }
      // Reading changes nothing, and a write keeps the damaged file.
      let isThere = damage != .missing
      #expect(try names(file) == (isThere ? ["a.json", "a.json.good"] : ["a.json.good"]))
      try file.write("two")
      #expect(file.load().value == "two" && file.load().problem == nil)
      #expect(
        try names(file) == ["a.json"] + (isThere ? ["a.json.damaged-1"] : []) + ["a.json.good"])
    }
  }

  @Test(arguments: Damage.allCases.filter { $0 != .missing })
  func withoutAGoodCopyThereIsNoValue(damage: Damage) throws {
    try withFile { file in
      try file.write("one")
      try damage.apply(to: file.path)
      try damage.apply(to: file.copyPath)
      let (value, problem) = file.load()
      #expect(value == nil)
      #expect(problem?.description.hasSuffix("; there is no good copy; make it again") == true)
    }
  }

  @Test func aCopyForAPersonIsNotUsed() throws {
    try withFile(usesCopy: false) { file in
      try file.write("one")
      try Damage.half.apply(to: file.path)
      #expect(file.load().value == nil)
      #expect(file.load().problem?.description.contains("cp -p \(file.copyPath)") == true)
    }
  }

  /// A copy that lacks a change could bring back what the change has revoked.
  @Test func theCopyIsNeverOlderThanTheFile() throws {
    try withFile { file in
      try file.write("one")
      // The file cannot be replaced, as on a disk that is full after the copy.
      try FileManager.default.createDirectory(
        atPath: "\(file.path).new/x", withIntermediateDirectories: true)
      #expect(throws: StateError.self) { try file.write("two") }
      #expect(try file.read() == "one")
      try Damage.half.apply(to: file.path)
      #expect(file.load().value == "two")
    }
  }

  @Test func whatIsRemovedDoesNotComeBack() throws {
    try withFile { file in
      try file.write("one")
      // The copy cannot be removed: the file remains, too.
      try FileManager.default.removeItem(atPath: file.copyPath)
      try FileManager.default.createDirectory(
        atPath: file.copyPath, withIntermediateDirectories: false)
      #expect(throws: StateError.self) { try file.remove() }
      #expect(try file.read() == "one")
      try FileManager.default.removeItem(atPath: file.copyPath)
      try file.remove()
      #expect(file.load().value == nil && file.load().problem == nil)
    }
  }

  @Test func whatIsTooLargeOrInTheWayIsNamed() throws {
    try withFile { file in
      try file.write("eleven byte")
      #expect(
        file.load().problem?.description.hasPrefix("\(file.path): is larger than 10 bytes") == true)
      let below = StateFile<String>(
        "\(file.path)/b.json", upTo: 10, makesFolder: true, withoutCopy: "", encode: { _ in [] },
        decode: { _ in "" })
      #expect {
        try below.write("")
      } throws: {
        "\($0)".hasPrefix("\(file.path)/: ")
      }
    }
  }
}
