package import JuiceDomain

/// The sums of orders and charges, in the smallest unit of a currency. They add up:
/// `sold == taken - givenBack + writtenOff + open`.
package struct MoneySums: Hashable, Sendable {
  /// The price of the glasses that were made.
  package var sold = 0
  /// The amounts that devices have captured.
  package var taken = 0
  /// The amounts that devices have refunded, and that people have given back in cash.
  package var givenBack = 0
  /// The unpaid part of the amount sold: free orders, juices that were not paid or whose price was
  /// given back. Below 0 if an amount was taken without a juice, and kept.
  package var writtenOff = 0
  /// The same of charges whose amount is held and neither captured, released nor written off.
  package var open = 0

  package init() {}

  package init(sold: Int, taken: Int, givenBack: Int, isOpen: Bool) {
    (self.sold, self.taken, self.givenBack) = (sold, taken, givenBack)
    let rest = sold &- taken &+ givenBack
    (writtenOff, open) = isOpen ? (0, rest) : (rest, 0)
  }

  /// Sums of kiosks are untrusted, so that an overflow is no error.
  package static func + (left: Self, right: Self) -> Self {
    var sum = Self()
    sum.sold = left.sold &+ right.sold
    sum.taken = left.taken &+ right.taken
    sum.givenBack = left.givenBack &+ right.givenBack
    sum.writtenOff = left.writtenOff &+ right.writtenOff
    sum.open = left.open &+ right.open
    return sum
  }

  package static func += (left: inout Self, right: Self) { left = left + right }
}

/// The sums of the orders and charges of a quarter of an hour in one currency.
package struct MoneyOfQuarter: Hashable, Sendable {
  /// The start of the quarter of an hour.
  package var at: Timestamp
  package var currency: Currency
  package var sums: MoneySums

  package init(at: Timestamp, currency: Currency, sums: MoneySums) {
    (self.at, self.currency, self.sums) = (at, currency, sums)
  }
}

extension MoneyOfQuarter: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    at = try members.required("at", \.at)
    currency = try members.required("currency", \.currency)
    sums = MoneySums()
    sums.sold = try members.required("sold", \.sums.sold, or: 0)
    sums.taken = try members.required("taken", \.sums.taken, or: 0)
    sums.givenBack = try members.required("given_back", \.sums.givenBack, or: 0)
    sums.writtenOff = try members.required("written_off", \.sums.writtenOff, or: 0)
    sums.open = try members.required("open", \.sums.open, or: 0)
  }
}
