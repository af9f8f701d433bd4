import Foundation
import FuzzTargets
import Testing

/// Runs each fuzz target on the inputs of its corpus.
@Suite struct FuzzCorpusTests {
  private static let corpus = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../Fuzz/corpus").standardizedFileURL

  @Test(arguments: FuzzTarget.allCases)
  func everyInputIsReadAsPromised(target: FuzzTarget) throws {
    let inputs = try FileManager.default.contentsOfDirectory(
      at: Self.corpus.appending(path: target.corpus), includingPropertiesForKeys: nil)
    #expect(!inputs.isEmpty)
    for input in inputs {
      let name = input.lastPathComponent
      let bytes = Array(try Data(contentsOf: input))
      let broken: @Sendable (String) -> Void = { Issue.record("\(name): \($0)") }
      Invariant.$broken.withValue(broken) { target.check(bytes) }
    }
  }
}
