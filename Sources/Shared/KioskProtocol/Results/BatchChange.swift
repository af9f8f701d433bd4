package import JuiceDomain

/// The id of a batch: fruit of one kind and one expiry time, added by one restock or initial stock.
package struct BatchID: Hashable, Sendable, Comparable {
  package let fruit: Fruit.ID
  /// The `seq` of the entry that added the batch.
  package let number: Int

  package init(fruit: Fruit.ID, number: Int) {
    self.fruit = fruit
    self.number = number
  }

  package static func < (left: Self, right: Self) -> Bool {
    (left.fruit, left.number) < (right.fruit, right.number)
  }
}

/// The fruit and the number: `kiwi/12`.
extension BatchID: LosslessStringConvertible {
  package init?(_ description: String) {
    let parts = description.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let fruit = Fruit.ID(parts[0]), let number = Int(parts[1]) else {
      return nil
    }
    self.init(fruit: fruit, number: number)
  }

  package var description: String { "\(fruit)/\(number)" }
}

/// A part of the changes of an entry: the amount that the entry adds to a batch; negative if the
/// entry takes fruit from the batch.
///
/// Fruit without a date belongs to no batch, so that the batch changes of an entry may add up to
/// only a part of its changes.
package struct BatchChange: Hashable, Sendable {
  package let id: BatchID
  package let amount: Int
  /// The time at which the batch expires, or `nil` if the batch existed before the entry.
  package let expires: Timestamp?

  package init(_ id: BatchID, _ amount: Int, expires: Timestamp? = nil) {
    self.id = id
    self.amount = amount
    self.expires = expires
  }
}

extension BatchChange: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    id = BatchID(
      fruit: try members.required("fruit", \.id.fruit),
      number: try members.required("batch", \.id.number))
    amount = try members.required("amount", \.amount, where: { $0.magnitude <= JSON.maximumAmount })
    expires = members.optional("expires", \.expires)
  }
}
