import Devices
import MessageBroker
import YAMLConfiguration

/// The topics on which a panel's presses arrive, and those on which its device repeats the presses.
struct BoundTopics {
  let panel: PanelBinding
  let filters: [TopicFilter]
  private let echoes: [TopicFilter]

  init(of panel: PanelBinding) {
    self.panel = panel
    filters = panel.filters.map { TopicFilter(unchecked: $0) }
    echoes = panel.dialect.echoes(of: panel.topic, saying: panel.buttons.keys).map {
      TopicFilter(unchecked: $0)
    }
  }

  /// Returns whether one press could count for both panels.
  func receivesPresses(of other: BoundTopics) -> Bool {
    if repeats(other) || other.repeats(self) { return true }
    switch (panel.dialect, other.panel.dialect) {
    case (.generic(let format), .generic(let another)):
      return panel.topic == other.panel.topic && format.action == another.action
        && sharesWord(with: other)
    case (.generic, _), (_, .generic):
      return filters.contains(where: other.filters.contains)
    case (let dialect, let another):
      return dialect == another && panel.topic == other.panel.topic && sharesWord(with: other)
    }
  }

  /// Returns the first filter of the other panel that overlaps with a different filter of this panel,
  /// or `nil` if there is none.
  func overlap(with other: BoundTopics) -> TopicFilter? {
    other.filters.first { filter in
      filters.contains { $0 != filter && $0.overlaps(filter) }
    }
  }

  /// Returns whether the device repeats its presses on a topic to which the other panel is bound.
  private func repeats(_ other: BoundTopics) -> Bool {
    switch (panel.dialect, other.panel.dialect) {
    // The device repeats the JSON action as a bare word, and the other panel reads only JSON.
    case (.generic, .generic(let format)) where format.action != nil: return false
    case (_, .generic), (.generic, .zigbee2MQTT), (.zigbee2MQTT, .zigbee2MQTT): break
    // In the other pairs, the other panel does not read the topics on which the device repeats presses.
    default: return false
    }
    return echoes.contains { echo in other.filters.contains { $0.overlaps(echo) } }
  }

  private func sharesWord(with other: BoundTopics) -> Bool {
    panel.buttons.keys.contains { word in
      other.panel.buttons.keys.contains {
        panel.dialect.mayBeSamePress(word, $0) || other.panel.dialect.mayBeSamePress(word, $0)
      }
    }
  }
}
