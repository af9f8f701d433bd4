/// Does each operation a fixed number of times, for `Tests/Kiosk/Instructions/run` to count what it costs.
@main
enum CountInstructions {
  static func main() throws {
    // The profiler counts calls all the time: what came before goes to the one that does nothing.
    let operations = [Operation(name: "nothing", units: 1) {}] + (try Operation.all())
    // The first time is another: statements are prepared, tables and texts are made.
    for operation in operations { operation.run() }
    for operation in operations {
      print(operation.name, operation.units)
      measured(operation.run)
    }
  }
}

/// The name that the profiler looks for: it counts what happens between here and the return.
@inline(never)
func measured(_ run: () -> Void) { run() }
