import Foundation
import FuzzTargets

/// Runs libFuzzer on the target that the environment variable `FUZZ_TARGET` names.
///
/// The entry point is not libFuzzer's `main`, because SwiftPM renames the entry point of an
/// executable target on Linux and links the renamed symbol.
@main
struct Fuzz {
  static func main() {
    let name = ProcessInfo.processInfo.environment["FUZZ_TARGET"] ?? ""
    guard let target = FuzzTarget(rawValue: name) else {
      let names = FuzzTarget.allCases.map(\.rawValue).joined(separator: " ")
      FileHandle.standardError.write(Data("FUZZ_TARGET is one of: \(names)\n".utf8))
      exit(64)
    }
    chosen = target.check
    var count = CommandLine.argc
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
    exit(
      runFuzzer(&count, &arguments) { start, count in
        chosen(Array(UnsafeBufferPointer(start: start, count: count)))
        return 0
      })
  }
}

/// Set once, before libFuzzer starts; global, because a C function captures no context.
nonisolated(unsafe) private var chosen: ([UInt8]) -> Void = { _ in }

/// Declared in LLVM's `FuzzerInterface.h`; the toolchain contains the library but no module.
@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
  _ argumentCount: UnsafeMutablePointer<Int32>,
  _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
  _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32
