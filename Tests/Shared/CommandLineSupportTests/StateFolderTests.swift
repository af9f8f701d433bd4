import CommandLineSupport
import Foundation
import Testing

@Suite struct StateFolderTests {
  private func withFolder(_ body: (StateFolder) throws -> Void) throws {
    let place = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: place) }
    try body(StateFolder(path: place.path(percentEncoded: false)))
  }

  @Test func aFileIsReadAsItWasWrittenLast() throws {
    try withFolder { folder in
      #expect(try folder.read("routes/a1.json", upTo: 10) == nil)
      try folder.write("routes/a1.json", Data("one".utf8))
      try folder.write("routes/a1.json", Data("two".utf8))
      #expect(try folder.read("routes/a1.json", upTo: 10) == Data("two".utf8))
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/routes") == ["a1.json"])
    }
  }

  @Test func nobodyElseMayReadIt() throws {
    try withFolder { folder in
      try folder.write("routes/a1.json", Data("one".utf8))
      for (place, permissions) in [("routes", 0o700), ("routes/a1.json", 0o600)] {
        let found = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/\(place)")
        #expect(found[.posixPermissions] as? Int == permissions)
      }
    }
  }

  @Test func whatWasLeftByOneThatWasKilledIsInNobodysWay() throws {
    try withFolder { folder in
      try folder.write("a.json", Data("one".utf8))
      try Data("ha".utf8).write(to: URL(filePath: "\(folder.path)/a.json.new"))
      #expect(try folder.read("a.json", upTo: 10) == Data("one".utf8))
      try folder.write("a.json", Data("two".utf8))
      #expect(try folder.read("a.json", upTo: 10) == Data("two".utf8))
    }
  }

  @Test func whatIsTooLargeOrInTheWayIsNamed() throws {
    try withFolder { folder in
      try folder.write("a.json", Data("eleven byte".utf8))
      #expect {
        _ = try folder.read("a.json", upTo: 10)
      } throws: {
        "\($0)" == "\(folder.path)/a.json: is larger than 10 bytes"
      }
      #expect {
        try folder.write("a.json/b.json", Data())
      } throws: {
        "\($0)".hasPrefix("\(folder.path)/a.json: ")
      }
    }
  }
}
