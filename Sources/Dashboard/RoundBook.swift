import Fleet
import Foundation
import JuiceDomain
import KioskMessages
import StateFiles

/// All rounds, each in a file of its own. A change counts when it is on the disk.
actor RoundBook {
  /// So many rounds are kept at most: one more removes the oldest.
  static let maximumRounds = 200

  private static let place = "rounds"

  private let folder: StateFolder
  private var rounds: [Round.ID: Round]?
  /// Why files cannot be read. They stay as they are, for somebody to look at.
  private(set) var problems: [StateError] = []

  init(folder: StateFolder) { self.folder = folder }

  /// The latest first.
  var all: [Round] {
    loaded().values.sorted { ($0.madeAt, $0.id) > ($1.madeAt, $1.id) }
  }

  subscript(id: Round.ID) -> Round? { loaded()[id] }

  /// Keeps a new round.
  func add(_ round: Round) throws(StateError) {
    var others = loaded()
    try keep(round)
    others[round.id] = round
    rounds = others
    while others.count > Self.maximumRounds,
      let first = others.values.min(by: { ($0.madeAt, $0.id) < ($1.madeAt, $1.id) })
    {
      try folder.remove(Self.name(of: first.id))
      others[first.id] = nil
      rounds = others
    }
  }

  /// Removes a round.
  ///
  /// - Returns: `false` if it stays, since somebody has confirmed one of its sheets.
  func remove(_ id: Round.ID) throws(StateError) -> Bool {
    guard let round = loaded()[id] else { return true }
    guard !round.isBegun else { return false }
    try folder.remove(Self.name(of: id))
    rounds?[id] = nil
    return true
  }

  /// Changes a sheet; the change counts when it is on the disk.
  ///
  /// - Returns: `nil` if there is no such sheet.
  func update<Value>(
    _ id: Round.ID, _ kiosk: KioskID, _ change: (inout Round.Sheet) -> Value
  ) throws(StateError) -> Value? {
    guard var round = loaded()[id], var sheet = round[kiosk] else { return nil }
    let value = change(&sheet)
    if round[kiosk] != sheet {
      round[kiosk] = sheet
      try keep(round)
      rounds?[id] = round
    }
    return value
  }

  private func keep(_ round: Round) throws(StateError) {
    let payload = round.payload
    guard payload.count <= Round.maximumPayload else {
      throw StateError(
        Self.name(of: round.id), "the round is too large to be kept: take fewer kiosks")
    }
    try folder.write(Self.name(of: round.id), Data(payload))
  }

  private func loaded() -> [Round.ID: Round] {
    if let rounds { return rounds }
    var found: [Round.ID: Round] = [:]
    do throws(StateError) {
      for name in try folder.names(in: Self.place) where name.hasSuffix(".json") {
        do throws(StateError) {
          if let round = try read(name) { found[round.id] = round }
        } catch {
          problems.append(error)
        }
      }
    } catch {
      problems.append(error)
    }
    rounds = found
    return found
  }

  private func read(_ name: String) throws(StateError) -> Round? {
    let name = "\(Self.place)/\(name)"
    guard let data = try folder.read(name, upTo: Round.maximumPayload) else { return nil }
    let round: Round
    do {
      round = try Round(payload: Array(data))
    } catch {
      throw StateError(name, "cannot be read: \(error)")
    }
    guard name == Self.name(of: round.id) else { throw StateError(name, "is another round's") }
    return round
  }

  private static func name(of id: Round.ID) -> String { "\(place)/\(id).json" }
}
