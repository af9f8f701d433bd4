/// Runs each operation a fixed number of times. `Tests/Kiosk/Instructions/run` counts the
/// instructions.
@main
enum CountInstructions {
  static func main() throws {
    defer { Operation.removeLedgers() }
    // The profiler counts calls even while it measures nothing; the first, empty operation absorbs
    // them.
    let operations = [Operation(name: "nothing", units: 1) {}] + (try Operation.all())
    // The first run of an operation costs more: it prepares statements and creates tables and
    // texts.
    for operation in operations { operation.run() }
    for operation in operations {
      print(operation.name, operation.units)
      measured(operation.run)
    }
  }
}

/// Runs an operation. The profiler looks for this name and counts from the call to the return.
@inline(never)
func measured(_ run: () -> Void) { run() }
