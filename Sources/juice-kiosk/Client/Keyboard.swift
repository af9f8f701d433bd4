import Foundation

enum Keyboard {
  /// What is typed, read on a thread of its own: none of the pool's is held up by a person.
  static var lines: AsyncStream<String> {
    AsyncStream { lines in
      Thread.detachNewThread {
        while let line = readLine() { lines.yield(line) }
        lines.finish()
      }
    }
  }
}
