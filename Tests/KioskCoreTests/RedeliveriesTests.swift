import MessageBroker
import Testing

@testable import KioskCore

/// Orders go by a letter for what they carry and their packet id: `b7`.
@Suite struct RedeliveriesTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// What may be unacknowledged.
    let open: [Delivery]
    let came: [Delivery]
    /// For each that came, which of the open ones it repeats; or itself by its fingerprint.
    let originals: [Delivery?]

    init(_ description: String, _ open: String, came: String, are originals: String) {
      testDescription = description
      self.open = Delivery.list(open).compactMap(\.self)
      self.came = Delivery.list(came).compactMap(\.self)
      self.originals = Delivery.list(originals)
    }
  }

  /// `!` marks a redelivery, `-` nothing.
  static let rows = [
    Row("numbers that are kept", "b7 k8", came: "b7! k8! b9", are: "b7 k8 -"),
    Row("the ledger remembers more", "", came: "b7!", are: "b7"),
    Row("queued and marked all the same", "b7", came: "b8! k9!", are: "b8 k9"),
    Row("the session's first messages", "b1 b2", came: "b1! b2! b3!", are: "b1 b2 -"),
    Row("round after 65,535", "b65534 b65535", came: "b1!", are: "b1"),
    Row("numbered anew", "b7 k8", came: "b1! k2!", are: "b7 k8"),
    Row("only the last one comes again", "b7 k8", came: "k1!", are: "k8"),
    Row("an old number and its bytes", "", came: "b1!", are: "-"),
    Row("each repeats one", "b7 b8", came: "b1! b2! b3!", are: "b7 b8 -"),
    Row("in their order", "b7 k8 b9", came: "k1! b2! b3!", are: "k8 b9 -"),
    Row("not what was passed over", "b7 k8", came: "k1! b2!", are: "k8 -"),
    Row("other bytes", "b7", came: "k1! b2!", are: "- b7"),
    Row("a new press is one", "b7", came: "b1", are: "-"),
    Row("behind one of a session taken over", "b7", came: "k1 b2!", are: "- b7"),
    Row("in a later batch too", "b7 k8", came: "b1! x2 k3!", are: "b7 - k8"),
  ]

  @Test(arguments: rows)
  func whatADeliveryRepeats(row: Row) {
    var redeliveries = Redeliveries(unacknowledged: row.open.map { Fingerprint($0) })
    let originals = row.came.map { redeliveries.original(of: $0) }
    #expect(originals == row.originals.map { $0.map { Fingerprint($0) } })
  }

  @Test func aDeliveryWithoutAPacketIDRepeatsNone() {
    var redeliveries = Redeliveries(unacknowledged: [Fingerprint(.order("b", packetID: 7))])
    #expect(redeliveries.original(of: .order("b", redelivered: true)) == nil)
    #expect(redeliveries.original(of: .order("b", packetID: 7, redelivered: true)) != nil)
  }

  /// What is settled meanwhile tells nothing about what is still to come.
  @Test(
    arguments: [
      ("", "", true), ("b7", "", false), ("b7 k8", "b1!", false), ("b7 k8", "b1! k2!", true),
      ("b7 k8", "k1!", true), ("b7 k8", "b7! k8!", true), ("b7", "x1!", false), ("b7", "x1", true),
    ])
  func theyAreOverWhenAllHaveComeOrANewOneHas(open: String, came: String, areOver: Bool) {
    var redeliveries = Redeliveries(
      unacknowledged: Delivery.list(open).compactMap { $0.map { Fingerprint($0) } })
    for case let delivery? in Delivery.list(came) { _ = redeliveries.original(of: delivery) }
    #expect(redeliveries.areOver == areOver)
  }

  @Test(arguments: [("b7 k8", "b7!", 0), ("b7 k8", "b1! k2! b3", 1), ("", "x1", 1), ("", "x9", 0)])
  func numbersThatBeginAnewAreToldOnce(open: String, came: String, times: Int) {
    var redeliveries = Redeliveries(
      unacknowledged: Delivery.list(open).compactMap { $0.map { Fingerprint($0) } })
    var told = 0
    for case let delivery? in Delivery.list(came) {
      _ = redeliveries.original(of: delivery)
      if redeliveries.takeNewNumbering() { told += 1 }
    }
    #expect(told == times)
  }

  /// It comes with the subscription, before what comes again or after it.
  @Test func aRetainedMessageDoesNotEndThem() {
    var redeliveries = Redeliveries(unacknowledged: [Fingerprint(.order("b", packetID: 7))])
    #expect(redeliveries.original(of: .order("x", packetID: 1, retain: true)) == nil)
    #expect(!redeliveries.areOver)
  }
}

extension Delivery {
  /// `b7` is an order with packet id 7, `b7!` a redelivery of one.
  fileprivate static func list(_ text: String) -> [Delivery?] {
    text.split(separator: " ").map { word in
      UInt16(word.dropFirst().filter(\.isNumber)).map {
        .order(String(word.prefix(1)), packetID: $0, redelivered: word.last == "!")
      }
    }
  }
}
