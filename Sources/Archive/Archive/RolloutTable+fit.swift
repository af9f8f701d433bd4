import JuiceDomain
import KioskProtocol
import Postgres
import YAMLConfiguration

/// The check of a menu before it is sent: by the rules of the kiosks, with the fruits in their
/// ledgers.
extension RolloutTable {
  /// Kiosks with the same fruits that will refuse a menu.
  package struct Misfit: Equatable, Sendable, CustomStringConvertible {
    /// The number of kiosks, at least 1.
    package let count: Int
    /// The lowest id of these kiosks.
    let kiosk: String
    let errors: ConfigurationErrors

    package var description: String {
      "  \(kiosk)\(count == 1 ? "" : " and \(count - 1) more"): \(errors.errors[0])"
    }
  }

  /// Maximum number of sets of fruits that are checked. The sets that most kiosks have are checked
  /// first.
  private static let maximumFruitSets = 100

  /// Returns the kiosks that will refuse the menu of a rollout, by their `opened` entries. Omits a
  /// kiosk without such an entry, and one beyond `maximumFruitSets`.
  func misfits(of plan: Plan, version: String?) throws(DatabaseError) -> [Misfit] {
    let sets = try database.run(
      """
      SELECT fruits, count(*), min(kiosk) FROM (
        SELECT kiosk, (
          SELECT string_agg(DISTINCT fruit, ' ' ORDER BY fruit)
          FROM juice.event CROSS JOIN LATERAL jsonb_object_keys(changes) fruit
          WHERE event.kiosk = rollout_kiosk.kiosk AND status = 'opened'
        ) AS fruits FROM juice.rollout_kiosk WHERE version = $1
      ) reported
      WHERE fruits IS NOT NULL GROUP BY fruits ORDER BY count(*) DESC, fruits LIMIT \(Self.maximumFruitSets)
      """, [version]
    ).rows
    return sets.compactMap { row in
      guard let fruits = row[0], let count = row[1].flatMap({ Int($0) }), let kiosk = row[2]
      else { return nil }
      do throws(ConfigurationErrors) {
        try plan.check(
          fruits: fruits.split(separator: " ").compactMap { Fruit.ID($0) }.map { Fruit($0) })
        return nil
      } catch {
        return Misfit(count: count, kiosk: kiosk, errors: error)
      }
    }
  }
}

extension RolloutTable.Plan {
  /// Checks the menu by the rules of a kiosk.
  ///
  /// - Parameter fruits: The fruits of the kiosk, or `nil` to omit the rules that depend on fruits.
  /// - Throws: All errors, in the order of the file.
  func check(fruits: [Fruit]?) throws(ConfigurationErrors) {
    let collector = DiagnosticCollector(file: file, environment: [:])
    // The version of the rollout does not exist yet; the errors name the file.
    _ = MenuReader(
      DesiredMenu(version: .max, text: menu), file: file, fruits: fruits, into: collector)
    guard collector.errors.isEmpty else {
      throw ConfigurationErrors(collector.errors.sorted { $0.place < $1.place })
    }
  }
}
