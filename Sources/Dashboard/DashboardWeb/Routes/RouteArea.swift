import Fleet
import JuiceDomain
import KioskProtocol

/// The kiosks among which a route is planned: those of one time zone, in which the times of the plan
/// are, and of one region, if the user has chosen one.
struct RouteArea {
  private let fleet: KioskFleet
  /// The IANA names of the time zones of all kiosks, sorted.
  private let timeZones: [String]
  /// The time zone, or `nil` if no kiosk has published one.
  let timeZone: String?
  /// The region, or `nil` for all.
  private let region: String?

  /// Reads the choice of a query or form. The default time zone is that of the route to plan again,
  /// or that of most of the kiosks.
  init(_ form: Form, of fleet: KioskFleet, _ source: Route? = nil) {
    self.fleet = fleet
    timeZones = Set(fleet.kiosks.compactMap(\.timeZone)).sorted()
    timeZone =
      [form["zone"], source?.timeZone].compactMap(\.self).first(where: timeZones.contains)
      ?? fleet.timeZone
    region = form["region"].flatMap { fleet.regions.contains($0) ? $0 : nil }
  }

  /// Returns the kiosks of the area, the most urgent first, and the ids of those that match a text.
  /// Other kiosks are included if the user has chosen them.
  func kiosks(
    matching text: String, or chosen: Set<String>, at now: Timestamp
  ) -> (all: [KioskState], matching: Set<KioskID>) {
    let fleet = fleet.limited { kiosk in
      chosen.contains(kiosk.id.text)
        || (kiosk.timeZone ?? timeZone) == timeZone && (region == nil || kiosk.region == region)
    }
    let survey = fleet.survey(at: now)
    return (survey.byUrgency().compactMap { fleet[$0] }, Set(survey.byUrgency(matching: text)))
  }

  /// Returns the fields in which the user chooses the area; hidden ones without a choice.
  func fields(_ language: Language) -> HTML {
    func select(_ name: String, _ label: String, _ options: [HTML]) -> HTML {
      "<label>\(label)<select name=\"\(name)\">\(options)</select></label>\n"
    }
    func option(_ value: String, _ chosen: String?) -> HTML {
      """
      <option value="\(value)"\(value == chosen ? " selected" : .empty)>\(value.isEmpty ? language("all", "전체") : value)</option>
      """
    }
    var fields: [HTML] = []
    if timeZones.count > 1 {
      fields.append(
        select("zone", language("Time zone", "시간대"), timeZones.map { option($0, timeZone) }))
    } else if let timeZone {
      fields.append(.hidden("zone", timeZone))
    }
    if !fleet.regions.isEmpty {
      fields.append(
        select(
          "region", language("Region", "지역"),
          ([""] + fleet.regions).map { option($0, region ?? "") }))
    }
    return "\(fields)"
  }
}
