/// The way from some subscriptions to others, within a session.
package struct SubscriptionChange: Sendable, Equatable {
  /// What is subscribed to.
  package let added: [TopicFilter]
  /// What is dropped before: a broker may send a message once for each filter that selects it (MQTT 5,
  /// 3.3.4), and a press would be two.
  package let droppedFirst: [TopicFilter]
  /// What is dropped once the broker has granted the others.
  package let droppedLast: [TopicFilter]

  package init(from before: [TopicFilter], to after: [TopicFilter]) {
    let (old, new) = (Set(before), Set(after))
    let added = after.filter { !old.contains($0) }
    let dropped = before.filter { !new.contains($0) }
    self.added = added
    droppedFirst = dropped.filter { filter in added.contains { $0.overlaps(filter) } }
    droppedLast = dropped.filter { filter in !added.contains { $0.overlaps(filter) } }
  }
}
