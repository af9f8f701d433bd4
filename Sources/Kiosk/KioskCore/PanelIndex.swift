import Devices
import MessageBroker

/// Which bound devices a message may be from.
struct PanelIndex: Sendable {
  private let panels: [PanelBinding]
  /// By topic, of those whose topics are known beforehand.
  private var exact: [String: [Int]] = [:]
  private var patterns: [(filter: TopicFilter, panel: Int)] = []
  /// What the patterns select, of topics that came before.
  private var found: [String: [Int]] = [:]

  /// Devices do not have more topics; somebody who makes them up does not fill the memory.
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
