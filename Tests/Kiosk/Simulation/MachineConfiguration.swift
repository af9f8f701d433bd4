import JuiceDomain
import KioskCore
import KioskProtocol

/// The configuration of a machine, which both the kiosk and the model use.
struct MachineConfiguration: Sendable {
  let name: String
  /// The juices that the machine makes, or `nil` for all.
  var juices: [String]?
  var atOnce = 1
  /// Time limit until the machine reports the start of a job, in seconds.
  var start = 15
  var finish = 60
  var returnsFruit = true

  static let all = [
    MachineConfiguration(name: "bar", juices: ["banana", "kiwi", "strawberry_banana"]),
    MachineConfiguration(name: "arm", atOnce: 2, start: 5, finish: 20, returnsFruit: false),
    MachineConfiguration(name: "tap", juices: ["kiwi", "mango_kiwi"], start: 40),
  ]

  func makes(_ juice: String) -> Bool { juices?.contains(juice) ?? true }

  var settings: KioskSettings.Machine {
    var settings = KioskSettings.Machine(
      name: MachineID(name) ?? "machine", atOnce: atOnce, startLimit: .seconds(start),
      finishLimit: .seconds(finish), returnsFruit: returnsFruit)
    settings.juices = juices.map { Set($0.compactMap { Juice.ID($0) }) }
    return settings
  }
}
