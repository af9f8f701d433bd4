import Foundation

/// A property that a decoder must have for every input.
package enum Invariant {
  /// The handler of a violation. The default ends the process, so that libFuzzer stores the input
  /// and prints the stack.
  @TaskLocal package static var broken: @Sendable (_ problem: String) -> Void = { problem in
    FileHandle.standardError.write(Data("BROKEN PROMISE: \(problem)\n".utf8))
    abort()
  }
}

func expect(_ isTrue: Bool, _ problem: @autoclosure () -> String) {
  if !isTrue { Invariant.broken(problem()) }
}
