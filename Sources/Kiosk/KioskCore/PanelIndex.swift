import Devices
import MessageBroker

/// Finds the panels that a topic belongs to.
struct PanelIndex: Sendable {
  private let panels: [PanelBinding]
  /// The indices of panels by topic, for filters without wildcards.
  private var exact: [String: [Int]] = [:]
  private var patterns: [(filter: TopicFilter, panel: Int)] = []
  /// The indices of panels by topic, for topics that were looked up in `patterns` before.
  private var found: [String: [Int]] = [:]

  /// Maximum number of topics in `found`, so that invented topics cannot exhaust the memory. Real
  /// devices use fewer.
  private static let maximumFound = 10_000

  init(_ panels: [PanelBinding]) {
    self.panels = panels
    for (index, panel) in panels.enumerated() {
      for filter in panel.filters {
        guard filter.utf8.contains(where: "+#".utf8.contains) else {
          exact[filter, default: []].append(index)
          continue
        }
        patterns.append((TopicFilter(unchecked: filter), index))
      }
    }
  }

  mutating func panels(subscribedTo topic: String) -> [PanelBinding] {
    if panels.isEmpty { return [] }
    if let indices = exact[topic] ?? found[topic] { return indices.map { panels[$0] } }
    let indices = patterns.filter { $0.filter.matches(topic) }.map(\.panel)
    if found.count >= Self.maximumFound { found = [:] }
    found[topic] = indices
    return indices.map { panels[$0] }
  }
}
