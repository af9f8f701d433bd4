import Foundation

/// What a decoder promises of every input.
package enum Invariant {
  /// Hears which one was broken. By default it ends the process as libFuzzer expects of a finding, which
  /// then keeps the input and prints the stack.
  @TaskLocal package static var broken: @Sendable (_ problem: String) -> Void = { problem in
    FileHandle.standardError.write(Data("BROKEN PROMISE: \(problem)\n".utf8))
    abort()
  }
}

func expect(_ isTrue: Bool, _ problem: @autoclosure () -> String) {
  if !isTrue { Invariant.broken(problem()) }
}
