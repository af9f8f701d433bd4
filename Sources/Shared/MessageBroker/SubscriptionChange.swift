/// The difference between two lists of subscriptions, for a change within a session.
package struct SubscriptionChange: Sendable, Equatable {
  /// The filters to subscribe to.
  package let added: [TopicFilter]
  /// The filters to unsubscribe from before subscribing, because they overlap with an added one: a
  /// broker may send a message once for each filter that matches it (MQTT 5, 3.3.4), and one button
  /// press would count twice.
  package let droppedFirst: [TopicFilter]
  /// The filters to unsubscribe from once the broker has granted the added ones.
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
